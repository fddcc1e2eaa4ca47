package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// service is a part of the program that listens or consumes until it is stopped: the HTTP server,
// a consumer of a broker. What is done again and again is a task.
type service interface {
	// name is what logs, errors and metrics call it.
	name() string
	// open takes what the service needs before the store is open, such as an address to listen on.
	// After an error nothing is left open.
	open(ctx context.Context) error
	// serve serves until stop, and returns nil then. An error is why it ended before.
	serve() error
	// stop ends serve, and whatever open has taken; serve need not have been called. What takes
	// longer than the context is cut off, and that is the error.
	stop(ctx context.Context) error
}

// services are all services of the program. They are opened and started in their order, and stopped
// in it.
type services struct {
	members []*member
	up      *prometheus.GaugeVec
}

// member is a service with what is known of it.
type member struct {
	service
	opened bool
	ended  chan struct{} // closed when serve has returned; nil before start
}

func newServices(all ...service) *services {
	s := &services{up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "andon_service_up",
		Help: "1 while a service that listens or consumes is running, 0 once it has ended.",
	}, []string{"service"})}
	for _, one := range all {
		s.add(one)
	}
	return s
}

// add adds a service before open.
func (s *services) add(one service) { s.members = append(s.members, &member{service: one}) }

// open opens all services. After an error none is open.
func (s *services) open(ctx context.Context) error {
	for _, m := range s.members {
		if err := m.open(ctx); err != nil {
			return errors.Join(err, s.stop(context.WithoutCancel(ctx)))
		}
		m.opened = true
	}
	return nil
}

// start starts all services. failed is called with the error of one that ends by itself.
func (s *services) start(failed func(error)) {
	for _, m := range s.members {
		m.ended = make(chan struct{})
		up := s.up.WithLabelValues(m.name())
		up.Set(1)
		go func() {
			defer close(m.ended)
			defer up.Set(0)
			if err := m.serve(); err != nil {
				failed(fmt.Errorf("%s: %w", m.name(), err))
			}
		}()
	}
}

// stop stops the services that are open, each once the one before it has ended. All workers are
// told first, so that those whose broker does not answer take their time together.
func (s *services) stop(ctx context.Context) error {
	var errs []error
	for _, m := range s.members {
		if w, is := m.service.(*worker); is && m.opened {
			w.quit()
		}
	}
	for _, m := range s.members {
		if !m.opened {
			continue
		}
		m.opened = false
		errs = append(errs, m.stop(ctx))
		if m.ended != nil {
			<-m.ended
		}
	}
	return errors.Join(errs...)
}
