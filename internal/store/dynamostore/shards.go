package dynamostore

import (
	"context"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/tenants"
)

// shardsFor returns how many partitions to use for what is about to be written to a device.
func (s *Store) shardsFor(d *device, units int64) int {
	n := max(d.Partitions(), s.options.fixedShards())
	if s.options.Shards != autoShards {
		return n
	}
	return s.rates.Partitions(s.now(), d.Rows(), units, n)
}

// unprocessed counts an entry or a message that a batch left unprocessed.
func (s *Store) unprocessed(table string, put ddb.Item) {
	hash := map[string]string{items.TableLog: items.AttrDevice,
		items.TableReadings: items.AttrReadingOf}[table]
	if hash == "" {
		return
	}
	units := items.UnitsOf(put.Bytes())
	for _, key := range append(items.RateKeys(put), put.Text(hash)) {
		s.rates.Again(key, units)
	}
}

// indexed counts what is about to be written to the keys of an index, and has them divided where
// they are busy.
func (s *Store) indexed(t *tenant, of items.Named, units int64) {
	if s.options.Shards != autoShards || of.Name == "" {
		return
	}
	n := items.Divided(t, of.Of, of.Name).Write
	key := items.RateKey(t, of.Of, of.Name)
	needed := s.rates.Partitions(s.now(), key, items.Sharers*units, n)
	if needed == n {
		return
	}
	if _, dividing := s.dividing.LoadOrStore(key, true); dividing {
		return
	}
	of.Name = strings.Clone(of.Name)
	id := t.Record.ID
	s.work.Go(func() {
		defer s.dividing.Delete(key)
		err := s.divide(s.live, id, of, needed)
		if err != nil && s.live.Err() == nil {
			s.options.Log.Warn("a key of an index is busy, and can't be divided yet",
				"tenant", id, "of", of.Of, "name", of.Name, "error", err)
		}
	})
}

// reindexed is indexed of a device that is put: an index that it enters, or leaves, is written to.
func (s *Store) reindexed(was, is *device) {
	before, after := was.Listed(), is.Listed()
	for _, of := range slices.Concat(before, after) {
		if slices.Contains(before, of) != slices.Contains(after, of) {
			s.indexed(is.Tenant, of, 1)
		}
	}
}

// divide has at least n keys of an index for what belongs to a name. Writers use them when each
// process reads them.
func (s *Store) divide(ctx context.Context, id andon.TenantID, of items.Named, n int) error {
	key := items.DividedName(of.Of, of.Name)
	set := func(number func(*tenants.Divided) *int) error {
		_, _, err := s.Amend(ctx, id, func(t *tenant) bool {
			is, there := t.Divided[key]
			if *number(&is) >= n || !there && len(t.Divided) >= items.MostDivided {
				return false
			}
			*number(&is) = n
			if t.Divided == nil {
				t.Divided = map[string]tenants.Divided{}
			}
			t.Divided[key] = is
			return true
		})
		return err
	}
	err := set(func(d *tenants.Divided) *int { return &d.Read })
	if err == nil {
		err = sleep.For(ctx, s.options.dividedAfter)
	}
	if err == nil {
		err = set(func(d *tenants.Divided) *int { return &d.Write })
	}
	return err
}

// Divide implements andon.Maintenance. The number of a device is in its item, from where each
// writer takes it with its next put.
func (s *Store) Divide(
	ctx context.Context, id andon.TenantID, of, name string, n int,
) (is int, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return 0, err
	}
	if n != 0 && !powerOfTwo(n) {
		return 0, andon.Errorf(andon.Invalid, "%d is not a power of two up to %d", n,
			items.MostShards)
	}
	switch of {
	case items.OfDevice:
		return s.divideDevice(ctx, t, andon.DeviceID(name), n)
	case items.OfOperator, items.OfSupervisor, items.OfState, items.OfMetric:
	default:
		return 0, andon.Errorf(andon.Invalid, "%q is none of device, operator, supervisor, state "+
			"and metric", of)
	}
	if of == items.OfState && name != "" {
		if err := s.knowsState(ctx, t, andon.State(name)); err != nil {
			return 0, err
		}
	}
	is = items.Divided(t, of, name).Write
	if n == 0 || n == is {
		return is, nil
	}
	if n < is {
		return is, fewer(is)
	}
	if err := s.divide(ctx, id, items.Named{Of: of, Name: name}, n); err != nil {
		return is, err
	}
	if t, err = s.tenant(ctx, id); err != nil {
		return is, err
	}
	if is = items.Divided(t, of, name).Write; is < n {
		err = andon.Errorf(andon.Conflict, "%d others are divided already, which is the most",
			items.MostDivided)
	}
	return is, err
}

// knowsState is an error that names the states of a tenant where it has no such one.
func (s *Store) knowsState(ctx context.Context, t *tenant, state andon.State) error {
	all, err := s.seenStates(ctx, t.Key)
	if err != nil {
		return err
	}
	for _, d := range t.Record.States.Defs() {
		all = append(all, d.Name)
	}
	slices.Sort(all)
	if slices.Contains(all, state) {
		return nil
	}
	var names []string
	for _, name := range slices.Compact(all) {
		names = append(names, string(name))
	}
	return andon.Errorf(andon.Invalid, "%q is no state of tenant %q, which has %s", state,
		t.Record.ID, strings.Join(names, ", "))
}

// divideDevice gives a device so many partitions, also one that has sent nothing yet.
func (s *Store) divideDevice(
	ctx context.Context, t *tenant, id andon.DeviceID, n int,
) (is int, err error) {
	if err := id.Validate(); err != nil {
		return 0, andon.Errorf(andon.Invalid, "%w", err)
	}
	err = s.withDevice(ctx, t, id, andon.ByReorder, func(d *device) (bool, error) {
		if is = d.Partitions(); n < is {
			if n != 0 {
				return false, fewer(is)
			}
			return false, nil
		}
		d.Shards, is = n, n
		return true, nil
	})
	return is, err
}

// fewer is why a number can't shrink.
func fewer(is int) error {
	return andon.Errorf(andon.Conflict, "it has %d shards, and what is stored is in all of them: "+
		"the number only grows", is)
}
