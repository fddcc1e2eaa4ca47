package andon

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
)

// Group is a place in the tree of groups of a tenant: a path of names that are joined by slashes,
// such as "plant-1/hall-3/line-7". A device is in at most one group, and in all groups above it.
type Group string

// NoGroup stands for the devices that are in no group, in a query. No path begins with it.
const NoGroup Group = "none"

// Bounds of what is said of a device.
const (
	MaxGroupBytes = 256
	MaxGroupDepth = 16
	MaxLabels     = 32
)

// Validate reports what is wrong with a path, or nil. The empty path is wrong.
func (g Group) Validate() error {
	if g.Within(NoGroup) {
		return Errorf(Invalid, "no group is called %q: it stands for devices in none", NoGroup)
	}
	if err := validID("group", string(g), MaxGroupBytes); err != nil {
		return err
	}
	names := strings.Split(string(g), "/")
	if len(names) > MaxGroupDepth {
		return Errorf(Invalid, "group has %d levels, more than %d", len(names), MaxGroupDepth)
	}
	for _, name := range names {
		if err := validID("a name in the path of a group", name, MaxIDBytes); err != nil {
			return err
		}
	}
	return nil
}

// Parent returns the group that contains g directly; absent where g is at the top.
func (g Group) Parent() Group { return g[:max(strings.LastIndexByte(string(g), '/'), 0)] }

// Within reports whether g is the group that is named or below it.
func (g Group) Within(of Group) bool {
	rest, ok := strings.CutPrefix(string(g), string(of))
	return ok && of != "" && (rest == "" || rest[0] == '/')
}

// Profile is what people say of a device. The zero value says nothing.
type Profile struct {
	Group    Group             `json:"group,omitempty"` // of its own, not by a rule
	Name     string            `json:"name,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Location *Location         `json:"location,omitempty"`
	Parent   DeviceID          `json:"parent,omitempty"` // the device that it belongs to
}

// Location is a place on the earth in degrees.
type Location struct {
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
}

// Validate reports what is wrong with a profile, or nil.
func (p *Profile) Validate() error {
	if p.Group != "" {
		if err := p.Group.Validate(); err != nil {
			return AtField("body.group", "%s", err)
		}
	}
	if p.Name != "" {
		if err := validID("name", p.Name, MaxGroupBytes); err != nil {
			return AtField("body.name", "%s", err)
		}
	}
	if p.Parent != "" {
		if err := validID("parent", string(p.Parent), MaxIDBytes); err != nil {
			return AtField("body.parent", "%s", err)
		}
	}
	if l := p.Location; l != nil && !l.valid() {
		return AtField("body.location", "lat is from -90 to 90 and lon from -180 to 180")
	}
	return p.checkLabels()
}

func (p *Profile) checkLabels() error {
	if len(p.Labels) > MaxLabels {
		return AtField("body.labels", "%d labels are more than %d", len(p.Labels), MaxLabels)
	}
	for name, value := range p.Labels {
		err := validID("name of a label", name, MaxStateBytes)
		if err == nil {
			err = validID("label "+clip(name), value, MaxIDBytes)
		}
		if err == nil && (strings.ContainsAny(name, ":,") || strings.Contains(value, ",")) {
			err = Errorf(Invalid, "label %s holds ':' in its name or ',', which queries are "+
				"written with", clip(name))
		}
		if err != nil {
			return AtField("body.labels", "%s", err)
		}
	}
	return nil
}

// UnmarshalJSON reads a location that has both.
func (l *Location) UnmarshalJSON(text []byte) error {
	var is struct{ Lat, Lon *float64 }
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&is); err != nil || is.Lat == nil || is.Lon == nil {
		return Errorf(Invalid, "a location is a lat and a lon in degrees")
	}
	l.Lat, l.Lon = *is.Lat, *is.Lon
	return nil
}

func (l Location) valid() bool { // NaN is not
	return math.Abs(l.Lat) <= 90 && math.Abs(l.Lon) <= 180
}

// earthRadius is the mean radius in metres.
const earthRadius = 6_371_008.8

// Metres returns the distance to another place along the surface of a sphere of the earth's size.
func (l Location) Metres(to Location) float64 {
	const degree = math.Pi / 180
	lat := math.Sin((to.Lat - l.Lat) * degree / 2)
	lon := math.Sin((to.Lon - l.Lon) * degree / 2)
	h := lat*lat + math.Cos(l.Lat*degree)*math.Cos(to.Lat*degree)*lon*lon
	return 2 * earthRadius * math.Asin(math.Min(1, math.Sqrt(h)))
}

// GroupRule puts devices into a group: those whose id begins with Prefix, or those of which an
// attribute equals a text. It has one of the two.
type GroupRule struct {
	Prefix    string `json:"prefix,omitempty"`
	Attribute string `json:"attribute,omitempty"`
	Equals    string `json:"equals,omitempty"`
	Group     Group  `json:"group"`
}

// Validate reports what is wrong with a rule, or nil.
func (r *GroupRule) Validate() error {
	switch {
	case (r.Prefix == "") == (r.Attribute == ""):
		return Errorf(Invalid, "a rule has either prefix or attribute")
	case (r.Attribute == "") != (r.Equals == ""):
		return Errorf(Invalid, "an attribute and equals belong together")
	case len(r.Prefix)+len(r.Attribute)+len(r.Equals) > MaxRecordIDBytes:
		return Errorf(Invalid, "a rule is longer than %d bytes", MaxRecordIDBytes)
	}
	return r.Group.Validate()
}

// Empty reports whether nothing is said.
func (p *Profile) Empty() bool {
	return p.Group == "" && p.Name == "" && len(p.Labels) == 0 && p.Location == nil &&
		p.Parent == ""
}

// DeviceProfile is what people say of one device.
type DeviceProfile struct {
	Device DeviceID `json:"device"`
	Profile
}

// GroupTally says how many devices are in a group now, and in all below it.
type GroupTally struct {
	Group   Group         `json:"group"`
	Devices int           `json:"devices"`
	States  map[State]int `json:"states" doc:"devices in each"`
	Silent  int           `json:"silent"`
}

// ProfileChange replaces some fields of the profile of a device, and leaves the others.
type ProfileChange struct {
	DeviceProfile
	Fields ProfileFields `json:"-"` // that are replaced
}

// ProfileFields is a set of fields of a profile: bit n is the field with name n of
// ProfileFieldNames.
type ProfileFields uint8

// ProfileFieldNames are the names of the fields in JSON.
var ProfileFieldNames = [...]string{"group", "name", "labels", "location", "parent"}

// Sets of fields.
const (
	ProfileGroup  ProfileFields = 1
	ProfileLabels ProfileFields = 1 << 2
	ProfileAll    ProfileFields = 1<<len(ProfileFieldNames) - 1
)

// Field returns a pointer to the field with name n.
func (p *Profile) Field(n int) any {
	return [...]any{&p.Group, &p.Name, &p.Labels, &p.Location, &p.Parent}[n]
}

// Apply changes a profile.
func (c *ProfileChange) Apply(p *Profile) {
	for n := range ProfileFieldNames {
		if c.Fields>>n&1 != 0 {
			reflect.ValueOf(p.Field(n)).Elem().Set(reflect.ValueOf(c.Field(n)).Elem())
		}
	}
}

// MarshalJSON writes the fields that are replaced; null is none.
func (c ProfileChange) MarshalJSON() ([]byte, error) {
	named := map[string]any{"device": c.Device}
	for n, name := range ProfileFieldNames {
		if c.Fields>>n&1 != 0 {
			value := reflect.ValueOf(c.Field(n)).Elem()
			if named[name] = value.Interface(); value.IsZero() {
				named[name] = nil
			}
		}
	}
	return json.Marshal(named)
}

// Validate reports what is wrong with a change, or nil.
func (c *ProfileChange) Validate() error {
	if err := c.Device.Validate(); err != nil {
		return AtField("body.device", "%s", err)
	}
	return c.Profile.Validate()
}
