package httpapi

import (
	"io"
	"net/http"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
)

// begin waits for a slot in a share of the work, unless the call has one.
func (c *call) begin(share *intake.Share, weight int64) error {
	if c.work.Entered() {
		return nil
	}
	from := time.Now()
	work, err := share.Enter(c.ctx(), weight)
	entered := time.Now()
	c.metrics.Waited(share.Name, entered.Sub(from), err)
	if err != nil {
		return err
	}
	c.work, c.x.Received = work, entered
	return nil
}

// beginEarly begins a call without a body. One that has a body begins once that is there.
func (c *call) beginEarly() error {
	switch {
	case c.route.outside || c.route.body != nil && c.r.ContentLength != 0:
		return nil
	case c.route.method() == http.MethodGet:
		return c.begin(c.intake.Reads, 1)
	}
	return c.beginWith(0)
}

// beginWith begins a call whose body has size bytes.
func (c *call) beginWith(size int64) error {
	if c.route.readOnly {
		return c.begin(c.intake.Reads, 1)
	}
	share, weight := c.intake.ForWrite(size)
	return c.begin(share, weight)
}

// end gives the slot back. It comes before the answer is sent, so that a client that fetches slowly
// holds none.
func (c *call) end() { c.work.Leave() }

// Take takes memory for n bytes more of the request and what is made of it. All of it is given back
// at the end of the call, or earlier by Give.
func (c *call) Take(n int64) error {
	if most := c.intake.Requests.Most(); c.taken+n > most {
		return andon.Errorf(andon.TooLarge, "the request takes more memory than the %d KB that "+
			"all requests together may take here (half of limits.memory): send parts", most>>10)
	}
	if err := c.intake.Requests.Take(n); err != nil {
		c.metrics.Refused("memory")
		return err
	}
	c.taken += n
	return nil
}

// Give gives memory back.
func (c *call) Give(n int64) {
	c.taken -= n
	c.intake.Requests.Give(n)
}

func (c *call) release() {
	c.end()
	c.Give(c.taken)
}

// drainFor is how long a client that was refused may go on sending.
const drainFor = 10 * time.Second

// refuse answers a call with an error. A client that is still sending may not look for an answer
// before it has sent all, and a connection that is closed meanwhile is reset, with the answer lost:
// so what it sends is read on for a while, and dropped. One that waits for 100 Continue is not
// waited for.
func (c *call) refuse(err error) {
	c.release()
	waits := c.r.Header.Get("Expect") != "" && !c.x.BodyBegun
	sending := c.r.ContentLength != 0 && !c.x.BodyEnded && !waits && c.r.ProtoMajor == 1
	if !sending {
		c.API.refuse(c.x, c.r, err)
		return
	}
	control := http.NewResponseController(c.x.ResponseWriter)
	// Else the server itself would read on before it answers.
	_ = control.EnableFullDuplex()
	c.x.Header().Set("Connection", "close")
	c.API.refuse(c.x, c.r, err)
	_ = control.Flush()
	c.x.SetReadDeadline(time.Now().Add(drainFor))
	_, _ = io.CopyN(io.Discard, c.r.Body, 2*andon.MaxRequestBytes)
}
