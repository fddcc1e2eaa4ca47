package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestReadings(t *testing.T) {
	w := newWorld(t)
	w.post("/readings", `[{"device":"p","time":"2020-04-24T10:00:00Z",
		"metrics":{"a":1.5,"b":true},"metadata":{"fw":"1"}},
		{"device":"p","time":"2020-04-24T10:01:00Z","metrics":{"a":1e-5}},
		{"device":"q","time":"2020-04-24T10:00:00Z","metrics":{"a":-3}},
		{"device":"p","time":"2020-04-24T10:00:00Z","metrics":{"c":7}}]`).
		equals(`{"accepted":4,"rejected":[]}`)
	const early = `{"device":"p","time":"2020-04-24T10:00:00Z",
		"metrics":{"a":1.5,"b":1,"c":7},"metadata":{"fw":"1"}}`
	const late = `{"device":"p","time":"2020-04-24T10:01:00Z","metrics":{"a":0.00001}}`
	w.get("/devices/p/readings").equals(`{"items":[` + late + `,` + early + `]}`)
	w.get("/devices/p/readings?order=asc&to=2020-04-24T10:00:30Z").
		equals(`{"items":[` + early + `]}`)
	w.get("/devices/p/readings?metrics=b,c").equals(`{"items":[{"device":"p",
		"time":"2020-04-24T10:00:00Z","metrics":{"b":1,"c":7},"metadata":{"fw":"1"}}]}`)
	w.get("/devices/p/readings/latest").equals(late)
	w.get("/devices/x/readings/latest").fails(http.StatusNotFound, "no reading")
	p := w.get("/devices/p/readings?limit=1").page()
	w.get("/devices/p/readings?limit=1&cursor=" + p.Next).equals(`{"items":[` + early + `]}`)

	w.post("/readings/latest", `{"devices":["x","p","y","p","x"]}`).
		equals(`{"items":[` + late + `],"missing":["x","y"]}`)
	w.post("/readings/latest", `{"devices":[]}`).equals(`{"items":[],"missing":[]}`)

	all := w.get("/metrics/a/readings").page()
	if len(all.Items) != 3 {
		t.Errorf("got %v", all)
	}
	var paged []string
	for next := "/metrics/a/readings?limit=1"; next != "" && len(paged) < 9; {
		p := w.get(next).page()
		paged = append(paged, p.column("device")[0]+p.column("time")[0])
		if next = ""; p.Next != "" {
			next = "/metrics/a/readings?limit=1&cursor=" + p.Next
		}
	}
	if len(paged) != 3 {
		t.Errorf("got %v", paged)
	}
}

func TestRejectedReadings(t *testing.T) {
	w := newWorld(t)
	for value, want := range map[string]string{
		"NaN": "NaN", "1e999": "1e", "01": "0", "Infinity": "Infinity", "1e126": "below",
		"1e-200": "0", `"5"`: "number", "[]": "number",
	} {
		sent := `{"device":"p","time":1587722400000,"metrics":{"m":` + value + `}}`
		w.post("/readings", sent).fails(http.StatusBadRequest, want)
	}
	w.get("/devices/p/readings").equals(`{"items":[]}`)
	w.post("/readings/latest", `{"devices":["a","\ud800"]}`).
		fails(http.StatusBadRequest, "body.devices[1]", "half of a surrogate pair")
	w.post("/readings/latest", `{"devices":["a","","\u0001"]}`).
		fails(http.StatusBadRequest, "body.devices[1]", "body.devices[2]")
	var many strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&many, `,"d%d"`, i)
	}
	w.post("/readings/latest", `{"devices":[`+many.String()[1:]+`]}`).fails(400, "1001 devices")
	w.post("/readings/latest", `{"devices":null}`).fails(http.StatusBadRequest, "body.devices")
	w.post("/readings/latest", `{"devices":[null]}`).fails(http.StatusBadRequest, "body.devices[0]")
}
