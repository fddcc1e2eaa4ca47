package openapi

import (
	_ "embed"
	"encoding/json"
)

// examples has the bodies and answers that the document shows, by operation: one afternoon of one
// press. Those of readings have no time, so that they can be sent as they are.
//
//go:embed examples.json
var examples []byte

type example struct {
	Body   json.RawMessage `json:"body"`
	Answer json.RawMessage `json:"answer"`
}
