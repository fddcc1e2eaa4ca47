package httpapi_test

import (
	"net/http"
	"testing"
)

// TestNobodyIsCalledNone: in queries it stands for nobody, so no way in takes it.
func TestNobodyIsCalledNone(t *testing.T) {
	w := newWorld(t, withDocuments)
	w.event("d", "2020-04-24T11:30:00Z", "WARNING1")
	const why = "it stands for nobody"
	for body, path := range map[string]string{
		`{"device":"d","state":"NORMAL","operator":"none"}`:     "/events",
		`{"device":"d","state":"NORMAL","escalated_to":"none"}`: "/events",
		`{"to":"none"}`:             "/devices/d/escalations",
		`{"to":"Sara","by":"none"}`: "/devices/d/escalations",
	} {
		w.post(path, body).fails(400, why)
	}
	w.put("/devices/d/operator", `{"operator":"none"}`).fails(400, why)
	w.put("/people/none", `{}`).fails(400, why)
	w.get("/devices?operator=none").is(http.StatusOK)
}
