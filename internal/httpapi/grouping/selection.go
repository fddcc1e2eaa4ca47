// Package grouping reads what people say of devices, and which devices a request selects by that.
package grouping

import (
	"errors"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/httpapi/openapi"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/ingest"
)

// Selecting returns parameters with those that select devices by what is said of them.
func Selecting(more ...openapi.Param) []openapi.Param {
	return append(more,
		openapi.Param{Name: "group", Example: "plant-1/hall-3"},
		openapi.Param{Name: "label", Example: "kind:press"},
		openapi.Param{Name: "near", Example: "52.5,13.4"},
		openapi.Param{Name: "within", Example: "2km"})
}

// Selection reads which devices an answer is about.
func Selection(r *params.Reader) (s groups.Selection) {
	s.Group = andon.Group(r.Text("group"))
	if s.Group != "" && s.Group != andon.NoGroup {
		r.Check("query.group", s.Group.Validate())
	}
	if text := r.Text("label"); text != "" {
		s.Labels = map[string]string{}
		for one := range strings.SplitSeq(text, ",") {
			name, value, ok := strings.Cut(one, ":")
			if s.Labels[name] = value; !ok || name == "" {
				r.Mark("query.label", "label is a name, ':' and a value, not %s", ingest.Clip(one))
			}
		}
	}
	if near, within := r.Text("near"), r.Text("within"); near != "" || within != "" {
		s.Near, s.Within = place(r, near), metres(r, within)
	}
	return s
}

func place(r *params.Reader, text string) *andon.Location {
	lat, lon, _ := strings.Cut(text, ",")
	is := andon.Location{}
	var errs [2]error
	is.Lat, errs[0] = strconv.ParseFloat(strings.TrimSpace(lat), 64)
	is.Lon, errs[1] = strconv.ParseFloat(strings.TrimSpace(lon), 64)
	if errors.Join(errs[:]...) != nil || (&andon.Profile{Location: &is}).Validate() != nil {
		r.Mark("query.near", "near is a latitude and a longitude in degrees, as 52.5,13.4, with "+
			"within, not %s", ingest.Clip(text))
	}
	return &is
}

func metres(r *params.Reader, text string) float64 {
	unit := 1.0
	number, km := strings.CutSuffix(text, "km")
	if km {
		unit = 1000
	} else {
		number = strings.TrimSuffix(number, "m")
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || n != n {
		r.Mark("query.within", "within is a distance such as 2km or 500m, with near, not %s",
			ingest.Clip(text))
	}
	return n * unit
}
