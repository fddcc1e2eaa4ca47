package httpapi

import "github.com/andonhq/andon"

// How fresh an answer must be is chosen by each request that reads. Every store takes the
// parameter, so that a program need not know which one it uses: a fresh answer may be given to a
// request that would accept an older one, and never the other way round.

var consistencyParam = param{
	Name: "consistency", Example: "eventual", Values: []string{"strong", "eventual"},
}

func (c *call) consistent() error {
	asked, _ := andon.ParseConsistency(c.Text(consistencyParam.Name)) // it was checked
	if !c.route.isExplained() {
		return nil
	}
	can := c.store.Capabilities()
	if asked == andon.Strong && !can.Immediate && !can.Consistency {
		return andon.Errorf(andon.Unsupported, "this store (%s) shows what it acknowledged a "+
			"moment later: ask without consistency=strong", can.Name)
	}
	if can.Consistency {
		c.context = andon.WithConsistency(c.context, asked)
	}
	return nil
}
