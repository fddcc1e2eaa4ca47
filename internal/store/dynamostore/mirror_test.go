package dynamostore

import (
	"maps"
	"net/http"
	"sync"
)

// mirror lets indexes lag, and eventual reads. It keeps a second table next to each, which gets the
// changes when the test says so; a Query of an index and each read that is not strong are answered
// from there. So a lag does not depend on a clock.
type mirror struct {
	p *proxy

	mu      sync.Mutex // held by a write until its change is noted: one order for all
	pending []change
}

// change is an item as it was after a write; nil where it was gone.
type change struct {
	call      call // for its header
	table     string
	key, item map[string]any
}

// lag makes indexes lag from now on: they follow at each catchUp. The tables must be made later.
func (p *proxy) lag() *mirror {
	p.mirror = &mirror{p: p}
	return p.mirror
}

func mirrored(table string) string { return table + ".mirror" }

// serve answers what concerns the indexes, and reports whether it did.
func (m *mirror) serve(w http.ResponseWriter, c call) bool {
	table, _ := c.body["TableName"].(string)
	switch c.operation {
	case "CreateTable", "DeleteTable":
		_, _, _ = m.p.ask(as(c, mirrored(table))) // the table itself says what is wrong
		return false
	case "Query", "Scan", "GetItem":
		if c.body["ConsistentRead"] == true {
			return false
		}
		m.p.pass(w, as(c, mirrored(table)))
	case "BatchGetItem":
		return m.serveBatch(w, c)
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem":
		m.mu.Lock()
		defer m.mu.Unlock()
		status, answer, err := m.p.ask(c)
		if err != nil {
			serverError(m.p, w, c)
			return true
		}
		if status == http.StatusOK {
			m.note(c)
		}
		reply(w, status, answer)
	default:
		return false
	}
	return true
}

// serveBatch answers a BatchGetItem of one table that is not strong. What is found is named by the
// table that was asked for.
func (m *mirror) serveBatch(w http.ResponseWriter, c call) bool {
	for table, of := range c.body["RequestItems"].(map[string]any) {
		if of.(map[string]any)["ConsistentRead"] == true {
			return false
		}
		c.body = maps.Clone(c.body)
		c.body["RequestItems"] = map[string]any{mirrored(table): of}
		status, answer, err := m.p.ask(c)
		if err != nil {
			serverError(m.p, w, c)
			return true
		}
		if found, ok := answer["Responses"].(map[string]any); ok {
			answer["Responses"] = map[string]any{table: found[mirrored(table)]}
		}
		reply(w, status, answer)
	}
	return true
}

func as(c call, table string) call {
	c.body = maps.Clone(c.body)
	c.body["TableName"] = table
	return c
}

// note keeps what a write has left, for catchUp.
func (m *mirror) note(c call) {
	if c.operation != "BatchWriteItem" {
		written, _ := c.body["Item"].(map[string]any)
		if written == nil {
			written, _ = c.body["Key"].(map[string]any)
		}
		m.noteItem(c, c.body["TableName"].(string), written)
		return
	}
	for table, requests := range c.body["RequestItems"].(map[string]any) {
		for _, r := range requests.([]any) {
			for _, of := range r.(map[string]any) {
				of := of.(map[string]any)
				written, _ := of["Item"].(map[string]any)
				if written == nil {
					written, _ = of["Key"].(map[string]any)
				}
				m.noteItem(c, table, written)
			}
		}
	}
}

func (m *mirror) noteItem(c call, table string, written map[string]any) {
	s, err := m.p.schemaOf(c, table)
	if err != nil {
		return
	}
	key := map[string]any{s.table.hash: written[s.table.hash]}
	if s.table.sort != "" {
		key[s.table.sort] = written[s.table.sort]
	}
	c.operation = "GetItem"
	c.body = map[string]any{"TableName": table, "Key": key, "ConsistentRead": true}
	if _, answer, err := m.p.ask(c); err == nil {
		item, _ := answer["Item"].(map[string]any)
		m.pending = append(m.pending, change{c, table, key, item})
	}
}

// catchUp lets the indexes follow.
func (m *mirror) catchUp() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.pending {
		c := n.call
		c.operation = "PutItem"
		c.body = map[string]any{"TableName": mirrored(n.table), "Item": n.item}
		if n.item == nil {
			c.operation = "DeleteItem"
			c.body = map[string]any{"TableName": mirrored(n.table), "Key": n.key}
		}
		if _, _, err := m.p.ask(c); err != nil {
			return err
		}
	}
	m.pending = nil
	return nil
}
