package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/ingest/table"
)

type source struct {
	io.Closer
	options  importOptions
	table    *table.Table // nil: the file is of NoSQL Workbench
	mapping  table.Mapping
	progress *draw.Bar
	notes    []string // about the file as a whole

	// One of them is what the table holds, as the mapping says.
	events   table.Entries[andon.Event]
	readings table.Entries[andon.Reading]
}

// openSource opens the file. What can't be right is refused before anything is sent.
func openSource(p *command.Program, o importOptions) (*source, error) {
	if o.workbench || isModel(p, o.file) {
		return openWorkbench(p, o)
	}
	format, err := formatOf(o)
	if err != nil {
		return nil, err
	}
	comma, err := o.comma()
	if err != nil {
		return nil, err
	}
	s := &source{options: o, mapping: o.mapping}
	s.mapping.Overlaps = &table.Overlaps{}
	s.mapping.DecimalComma = o.decimal.Value == ","
	if s.mapping.Precision, err = andon.ParsePrecision(o.precision); err != nil {
		return nil, err
	}
	if s.mapping.Precision == andon.Assumed { // here the numbers of the whole file are doubted
		s.mapping.Precision = andon.Milliseconds
	}
	if err := s.choose(); err != nil {
		return nil, err
	}
	if err := s.translate(); err != nil {
		return nil, err
	}
	file, size, err := openFile(p, o.file)
	if err != nil {
		return nil, err
	}
	s.Closer = file
	s.progress = draw.NewFileBar(p.Stderr, o.name(), size)
	s.table, err = table.Open(s.progress.Reader(file), table.Options{
		Format: format, Comma: comma, Comments: o.comments, NoHeader: o.noHeader,
	})
	if err == nil {
		err = s.read()
	}
	if err == nil && !o.ahead {
		err = s.orderDates(p)
	}
	if err != nil {
		s.progress.End()
		file.Close()
		return nil, andon.Errorf(andon.KindOf(err), "%s: %w%s", o.name(), err, s.advice(err))
	}
	return s, nil
}

// openFile opens a file and returns its size, 0 where it is not known.
func openFile(p *command.Program, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(p.Stdin), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, andon.Errorf(andon.Invalid, "open the file: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = andon.Errorf(andon.Invalid, "%s is a directory: name a file in it", name)
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// choose refuses what can be neither events nor readings.
func (s *source) choose() error {
	m := &s.mapping
	switch {
	case len(m.State) > 0 && len(m.Metrics) > 0:
		return andon.Errorf(andon.Invalid, "--state makes events of the rows, and --metrics "+
			"readings: give one of them\n"+
			"What is kept beside an event is --attributes, beside a reading --metadata")
	case len(m.Metrics) == 0 && len(m.Metadata) > 0:
		return andon.Errorf(andon.Invalid, "--metadata is kept beside readings, which "+
			"--metrics names\nWhat is kept beside an event is --attributes")
	case len(m.Metrics) == 0 && len(m.State) == 0:
		m.State = []string{"state"}
	}
	return nil
}

// translate reads what the rows have to be understood by.
func (s *source) translate() error {
	zone, err := table.ParseZone(s.options.zone)
	if err != nil {
		return andon.Errorf(andon.Invalid, "--zone %w", err)
	}
	s.mapping.Clock = &table.Clock{Zone: zone}
	if order := s.options.dateOrder; order != "" {
		if s.mapping.Clock.Dates.Order, err = table.ParseDateOrder(order); err != nil {
			return andon.Errorf(andon.Invalid, "--date-order %w", err)
		}
	}
	if len(s.options.states) > 0 {
		s.mapping.States = make(map[string]andon.State, len(s.options.states))
	}
	for name, state := range s.options.states {
		if err := andon.State(state).Validate(); err != nil {
			return andon.Errorf(andon.Invalid, "--map %s=%s: %w", name, state, err)
		}
		s.mapping.States[name] = andon.State(state)
	}
	return nil
}

// orderDates finds out in which order the dates of the file stand that do not say it themselves, as
// far as that was not said. It reads the file as far as it takes; standard input can't be read
// twice.
func (s *source) orderDates(p *command.Program) error {
	dates := &s.mapping.Clock.Dates
	if dates.Order != 0 || s.options.file == "-" {
		return nil
	}
	quiet, o := *p, s.options
	quiet.Stderr, o.ahead = io.Discard, true
	probe, err := openSource(&quiet, o)
	if err != nil {
		return err
	}
	defer probe.Close()
	defer probe.progress.End()
	seen := &probe.mapping.Clock.Dates
	if s.isReadings() {
		passThrough(probe.readings, seen.Told)
	} else {
		passThrough(probe.events, seen.Told)
	}
	if doubt := seen.Doubt(); doubt != "" {
		return andon.Errorf(andon.Invalid, "%s\nSay which: --date-order dmy, mdy or ymd", doubt)
	}
	order, example, line, proven := seen.Proven()
	if proven {
		dates.Order = order
		note := fmt.Sprintf("dates are read as %s, which %s proves", order, example)
		if line > 0 { // a format with lines
			note = fmt.Sprintf("dates are read as %s, which %s in line %d proves",
				order, example, line)
		}
		s.notes = append(s.notes, note)
	}
	return nil
}

// passThrough reads entries until it is done. What is wrong with a row is told when it is read to
// be sent.
func passThrough[T any](entries table.Entries[T], done func() bool) {
	for _, err := range entries {
		if done() || err != nil && !isOfRow(err) {
			return
		}
	}
}

// isOfRow reports whether an error is about one row, and others follow.
func isOfRow(err error) bool {
	_, one := errors.AsType[*table.RowError](err)
	return one
}

// taken says which columns were taken because of their names, or what there is to know about a
// model; "" where there is nothing.
func (s *source) taken() (text string) {
	for _, note := range s.notes {
		text += s.options.name() + ": " + draw.Legible(note) + "\n"
	}
	if s.table == nil {
		return text
	}
	var all []string
	for _, g := range s.table.Guesses() {
		all = append(all, g.Field+" from "+draw.Legible(g.Column))
	}
	if len(all) == 0 {
		return text
	}
	return fmt.Sprintf("%s: taken were %s\n", s.options.name(), strings.Join(all, ", ")) + text
}

// ambiguous says that the file has times that came twice; "" where it has none.
func (s *source) ambiguous() string {
	if s.table == nil {
		return ""
	}
	n, line := s.mapping.Clock.Twice()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s in %s when the clocks went back, the first in line %d: each was "+
		"taken as the earlier of the two\n",
		s.options.name(), draw.GroupedCount(n, "time")+" came twice", s.options.zone, line)
}

func (s *source) isReadings() bool { return s.options.kind() == kindReadings }

// read turns the rows into entries. The error is about the mapping.
func (s *source) read() (err error) {
	if s.isReadings() {
		s.readings, err = s.table.Readings(s.mapping)
		return err
	}
	s.events, err = s.table.Events(s.mapping)
	return err
}

// advice says with which flag a file can be read that could not.
func (s *source) advice(err error) string {
	other, ok := errors.AsType[*table.CommaError](err)
	switch {
	case ok && other.Comma == '\t':
		return "\nIf that is so, say --delimiter tab"
	case ok:
		return "\nIf that is so, say --delimiter '" + string(other.Comma) + "'"
	case s.table == nil:
		return ""
	}
	has := func(begin string) bool {
		begins := func(name string) bool { return strings.HasPrefix(name, begin) }
		return slices.ContainsFunc(s.table.Columns(), begins)
	}
	switch {
	case has("#") && !s.options.comments:
		return "\nIf lines with # stand before the header, say --comments"
	case has("metrics") && !has("state") && len(s.options.mapping.State) == 0 && !s.isReadings():
		return "\nIf these are readings, say --metrics 'metrics.*' --metadata 'metadata.*'"
	}
	return namesColumn(err)
}

// namesColumn says how to name the column of a field that is not there under the field's own name.
func namesColumn(err error) string {
	field, rest, _ := strings.Cut(err.Error(), ": ")
	if !strings.HasPrefix(rest, fmt.Sprintf("there is no column %q;", field)) {
		return ""
	}
	return "\nSay which column it is: --" + strings.ReplaceAll(field, "_", "-") + " COLUMN"
}

func (s *source) send(ctx context.Context, c *client.Client, r *report) error {
	c = c.WithOutcomes()
	if s.isReadings() {
		return s.sendReadings(ctx, c, r)
	}
	return s.sendEvents(ctx, c, r)
}

func (s *source) sendEvents(ctx context.Context, c *client.Client, r *report) error {
	tenant, err := c.Tenant(ctx, andon.TenantID(s.options.Tenant))
	if err != nil {
		return err
	}
	r.strange.learn(tenant.States)
	if err := s.orderOverlaps(tenant.States); err != nil {
		return err
	}
	appends := dry(s.options.dryRun, c.AppendEvents)
	send := func(ctx context.Context, events []andon.Event) (client.Result, error) {
		result, err := appends(ctx, events)
		if err == nil {
			r.strange.addAll(events, result)
		}
		return result, err
	}
	im := importer[andon.Event]{
		send: send, size: eventSize, batch: s.options.batch, report: r,
		device: func(e *andon.Event) andon.DeviceID { return e.Device },
		fold:   foldEvent, doubt: s.doubtTimes,
	}
	events, o := s.events, &s.options
	if o.file == "-" && o.newStates == refuseStates || o.dryRun && o.newStates == allowStates &&
		tenant.UnknownStates == andon.RefuseUnknown { // as the server does
		events = r.strange.refuse(events)
	}
	return im.run(ctx, events)
}

// orderOverlaps says which of several rows that go on at once a device is in.
func (s *source) orderOverlaps(defs []andon.StateDef) error {
	if s.mapping.Overlaps == nil || s.options.overlap.Value == overlapLast {
		return nil
	}
	states, err := andon.NewStateSet(defs)
	if err == nil {
		s.mapping.Overlaps.Severity = states.Severity
	}
	return err
}

// overlapping says how many rows went on at once with others; "" where none did.
func (s *source) overlapping() string {
	o := s.mapping.Overlaps
	if o == nil || o.Began == 0 {
		return ""
	}
	name, began := s.options.name(), draw.GroupedCount(o.Began, "row")
	if o.Severity == nil {
		return fmt.Sprintf("%s: %s began while another row of the same device went on: the device "+
			"is in the one that began last. --overlap severest shows the severest\n", name, began)
	}
	never := ""
	if o.Never > 0 {
		never = fmt.Sprintf("; %s never shown", draw.GroupedCount(o.Never, "row"))
	}
	return fmt.Sprintf("%s: %s began while another row of the same device went on: the device is "+
		"in the severest, of equal ones in the one that began last%s. --overlap last shows each "+
		"when it begins\n", name, began, never)
}

// dry returns what sends entries, or, where nothing is to be sent, what takes them all for
// accepted.
func dry[T any](
	yes bool, send func(context.Context, []T) (client.Result, error),
) func(context.Context, []T) (client.Result, error) {
	if !yes {
		return send
	}
	return func(_ context.Context, entries []T) (client.Result, error) {
		return client.Result{Accepted: len(entries)}, nil
	}
}

func (s *source) sendReadings(ctx context.Context, c *client.Client, r *report) error {
	im := importer[andon.Reading]{
		send: dry(s.options.dryRun, c.AppendReadings), size: readingSize,
		batch: s.options.batch, report: r,
		device: func(r *andon.Reading) andon.DeviceID { return r.Device },
		doubt:  s.doubtTimes,
	}
	return im.run(ctx, s.readings)
}

// doubtTimes reports times that are numbers of another unit than the one that holds where none is
// given: seconds read as milliseconds would all be of January 1970. Of standard input it also
// reports dates whose order is not known.
func (s *source) doubtTimes() error {
	if s.table == nil {
		return nil
	}
	dates := &s.mapping.Clock.Dates
	_, example, _, _ := dates.Proven()
	if example != "" && dates.Order == 0 && s.options.file == "-" {
		return andon.Errorf(andon.Invalid, "%s is read only once, so it can't prove the order of "+
			"dates such as %s\nSay it: --date-order dmy, mdy or ymd", s.options.name(), example)
	}
	likely, ok := s.table.Precision()
	if !ok || s.options.precisely || likely == s.mapping.Precision {
		return nil
	}
	unit := map[andon.Precision][2]string{
		andon.Seconds: {"s", "seconds"}, andon.Microseconds: {"us", "microseconds"},
		andon.Nanoseconds: {"ns", "nanoseconds"},
	}[likely]
	return andon.Errorf(andon.Invalid, "%s: the times look like %s, and would be read as "+
		"milliseconds\nSay --precision %s; or --precision ms, if they are right as they are",
		s.options.name(), unit[1], unit[0])
}

func eventSize(e *andon.Event) int {
	const fields = 160 // names, quotes, time
	return fields + len(e.Device) + len(e.State) + len(e.Operator) + len(e.EscalatedTo) +
		2*len(e.Message) + len(e.Attributes) // a message may need escapes
}

func readingSize(r *andon.Reading) int {
	const fields, metric = 100, 64
	return fields + len(r.Device) + metric*len(r.Metrics) + len(r.Metadata)
}
