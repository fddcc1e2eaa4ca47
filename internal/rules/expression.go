package rules

import (
	"errors"
	"fmt"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/andonhq/andon"
)

// Bounds of an expression. It has no loops, texts or lists, so its time and memory follow from the
// number of its nodes.
const (
	maxExpression = 4096 // bytes
	maxNodes      = 500
	maxMemory     = 10_000 // values that it may make
)

// parts are the operators and functions that an expression may have. The metrics are numbers.
var (
	operators = []string{
		"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "and", "or", "&&", "||", "not", "!",
	}
	functions = []string{"abs", "ceil", "floor", "round", "min", "max"}
)

// expression compiles an expression. A fault is at its line and column.
func expression(place, text string) (test, []andon.MetricName, error) {
	if len(text) > maxExpression {
		return nil, nil, andon.AtField(place, "it is longer than %d bytes", maxExpression)
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, nil, faulty(place, err)
	}
	w := &walk{}
	ast.Walk(&tree.Node, w)
	if w.fault != nil {
		return nil, nil, faulty(place, w.fault.Bind(tree.Source))
	}
	if len(w.names) == 0 {
		return nil, nil, andon.AtField(place, "it names no metric")
	}
	env := map[string]any{}
	for _, name := range w.names {
		env[string(name)] = 0.0
	}
	options := []expr.Option{
		expr.Env(env), expr.AsBool(), expr.MaxNodes(maxNodes), expr.Patch(&walk{replaces: true}),
		expr.Function(division, divide, new(func(float64, float64) float64),
			new(func(float64, int) float64), new(func(int, float64) float64),
			new(func(int, int) float64)),
		expr.DisableAllBuiltins(),
	}
	for _, name := range functions {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, nil, faulty(place, err)
	}
	names := w.names
	return func(s *sample) (bool, error) {
		env := make(map[string]any, len(names))
		for _, name := range names {
			value, _ := s.metrics.Get(name)
			env[string(name)] = value
		}
		is, err := (&vm.VM{MemoryBudget: maxMemory}).Run(program, env)
		holds, _ := is.(bool)
		if e, ok := errors.AsType[*file.Error](err); ok {
			err = errors.New(e.Message)
		}
		return holds, err
	}, names, nil
}

// faulty places what is wrong with an expression.
func faulty(place string, err error) error {
	if e, ok := errors.AsType[*file.Error](err); ok {
		return andon.AtField(place, "line %d, column %d: %s", e.Line, e.Column+1, e.Message)
	}
	return andon.AtField(place, "line 1, column 1: %s", err) // its result is no condition
}

// division is the function that is called for "/". No metric in an expression is called so.
const division = "/ "

var errDivision = errors.New("division by zero")

// divide is what "/" does: a number that is not finite is no answer.
func divide(of ...any) (any, error) {
	a, b := number(of[0]), number(of[1])
	if b == 0 {
		return nil, errDivision
	}
	return a / b, nil
}

func number(v any) float64 {
	if n, is := v.(int); is {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}

// walk collects the names of metrics, and refuses what an expression may not have; or it replaces
// what is written otherwise than it is evaluated.
type walk struct {
	replaces bool
	names    []andon.MetricName
	fault    *file.Error
}

// Visit looks at a node, after those below it.
func (w *walk) Visit(at *ast.Node) {
	n := *at
	if w.replaces {
		if b, is := n.(*ast.BinaryNode); is && b.Operator == "/" {
			of, name := []ast.Node{b.Left, b.Right}, &ast.IdentifierNode{Value: division}
			ast.Patch(at, &ast.CallNode{Callee: name, Arguments: of})
		} else if name, is := quoted(n); is {
			ast.Patch(at, &ast.IdentifierNode{Value: string(name)})
		}
		return
	}
	var refused string
	switch n := n.(type) {
	case *ast.IdentifierNode:
		w.add(n, andon.MetricName(n.Value))
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.ConditionalNode, *ast.StringNode:
	case *ast.UnaryNode:
		refused = unless(operators, "operator", n.Operator)
	case *ast.BinaryNode:
		refused = unless(operators, "operator", n.Operator)
	case *ast.BuiltinNode:
		refused = unless(functions, "function", n.Name)
	case *ast.CallNode:
		name, is := quoted(n)
		if !is {
			refused = fmt.Sprintf("want metric(\"NAME\") or one of the functions %v", functions)
		} else {
			w.names = slices.DeleteFunc(w.names, func(m andon.MetricName) bool {
				return m == "metric"
			})
			w.add(n, name)
		}
	default:
		refused = "an expression has numbers, metrics, comparisons and arithmetic only"
	}
	if refused != "" {
		w.refuse(n, refused)
	}
}

func (w *walk) add(n ast.Node, name andon.MetricName) {
	if err := name.Validate(); err != nil {
		w.refuse(n, err.Error())
	}
	if !slices.Contains(w.names, name) {
		w.names = append(w.names, name)
	}
}

func (w *walk) refuse(n ast.Node, why string) {
	if w.fault == nil {
		w.fault = &file.Error{Location: n.Location(), Message: why}
	}
}

func unless(all []string, what, is string) string {
	if slices.Contains(all, is) {
		return ""
	}
	return fmt.Sprintf("%s %s is none of %v", what, is, all)
}

// quoted returns the metric that metric("NAME") names.
func quoted(n ast.Node) (andon.MetricName, bool) {
	call, is := n.(*ast.CallNode)
	if !is || len(call.Arguments) != 1 {
		return "", false
	}
	callee, is := call.Callee.(*ast.IdentifierNode)
	text, isText := call.Arguments[0].(*ast.StringNode)
	if !is || !isText || callee.Value != "metric" {
		return "", false
	}
	return andon.MetricName(text.Value), true
}
