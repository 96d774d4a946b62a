// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/hack/bed/netem/link"
	"geosql.dev/operator/hack/bed/netem/queue"
	"geosql.dev/operator/hack/bed/netem/shape"
)

// minMTU keeps the TAP usable on devices with an odd MTU.
const minMTU = 1500

// tapPrefix begins the names of the emulator's own interfaces.
const tapPrefix = "netem"

// IsTAP tells whether an interface is one of an emulator's own, by its name.
func IsTAP(name string) bool { return strings.HasPrefix(name, tapPrefix) }

// Emulator shapes one device. Its methods are safe for concurrent use.
type Emulator struct {
	device     net.Interface
	classifier *link.Classifier
	loop       *loop
	started    time.Time

	mu sync.Mutex
	// classes are those in force, by name; retired ones only the loop knows.
	classes map[string]*class
	// byDestination and byPriority are what the classifier holds.
	byDestination map[netip.Prefix]link.Target
	byPriority    map[uint32]link.Target
}

// Open attaches to a device of the calling thread's network namespace. Traffic
// is untouched until Apply.
func Open(deviceName string) (*Emulator, error) {
	device, err := net.InterfaceByName(deviceName)
	if err != nil {
		return nil, fmt.Errorf("find device %q: %w", deviceName, err)
	}
	if len(device.HardwareAddr) != 6 {
		return nil, fmt.Errorf("device %s is no Ethernet device: it cannot be shaped", deviceName)
	}
	l, err := newLoop(*device)
	if err != nil {
		return nil, err
	}
	classifier, err := link.AttachClassifier(device.Index)
	if err != nil {
		l.close()
		return nil, err
	}
	return &Emulator{
		device: *device, classifier: classifier, loop: l, started: time.Now(),
		classes: map[string]*class{}, byDestination: map[netip.Prefix]link.Target{}, byPriority: map[uint32]link.Target{},
	}, nil
}

// Run moves frames until Stop, which gives nil, or until the device is gone,
// which gives ErrDeviceGone. Traffic passes unshaped afterwards and what was
// queued is lost. It is called once.
func (e *Emulator) Run() error {
	err := e.loop.run()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.classifier.Close()
	e.loop.close()
	return err
}

// Stop ends Run. It is no error to stop twice.
func (e *Emulator) Stop() {
	_ = e.loop.do(func() { e.loop.stopped = true })
}

// Apply makes classes the whole set of the device's classes. A class that is
// there already, by name, keeps its queue and takes the new rule for the
// frames to come; a cut drops its queue; a class that is not in the set any
// more delivers what it has accepted and goes. After an error part of the set
// may be in force: Apply again.
func (e *Emulator) Apply(classes []Class) error {
	if err := Validate(classes); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.apply(classes)
}

// Set adds a class or changes the one of its name.
func (e *Emulator) Set(wanted Class) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.specs()
	all = slices.DeleteFunc(all, func(c Class) bool { return c.Name == wanted.Name })
	all = append(all, wanted)
	if err := Validate(all); err != nil {
		return err
	}
	return e.apply(all)
}

// Clear removes the class of this name; it is no error if there is none.
func (e *Emulator) Clear(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.apply(slices.DeleteFunc(e.specs(), func(c Class) bool { return c.Name == name }))
}

func (e *Emulator) specs() []Class {
	all := make([]Class, 0, len(e.classes))
	for _, c := range e.classes {
		all = append(all, c.Class)
	}
	return all
}

func (e *Emulator) apply(wanted []Class) error {
	if err := e.loop.do(func() { e.loop.scheduling = link.Promote() }); err != nil {
		return err
	}
	byDestination := map[netip.Prefix]link.Target{}
	byPriority := map[uint32]link.Target{}
	names := map[string]bool{}
	for _, spec := range wanted {
		spec.To = canonical(spec.To)
		names[spec.Name] = true
		c, err := e.ensure(spec)
		if err != nil {
			return fmt.Errorf("class %s: %w", spec.Name, err)
		}
		if spec.direct() {
			continue
		}
		target := link.Target{Interface: c.tap.Index, Class: c.number}
		if spec.cut() {
			target.Interface = 0
		}
		for _, prefix := range spec.To {
			byDestination[prefix] = target
		}
		for _, priority := range spec.Priorities {
			byPriority[priority] = target
		}
	}
	if err := divert(e.byDestination, byDestination, e.classifier.SetDestination,
		e.classifier.RemoveDestination); err != nil {
		return err
	}
	if err := divert(e.byPriority, byPriority, e.classifier.SetPriority, e.classifier.RemovePriority); err != nil {
		return err
	}
	return e.settle(names)
}

// ensure has the class of this name, with its rule in force for what it is
// handed. A cut is only prepared: the classifier must drop first.
func (e *Emulator) ensure(spec Class) (*class, error) {
	c := e.classes[spec.Name]
	if c == nil {
		made, err := e.create(spec)
		if err != nil {
			return nil, err
		}
		e.classes[spec.Name] = made
		return made, e.loop.do(func() {
			e.loop.classes = append(e.loop.classes, made)
			e.loop.changed = true
		})
	}
	if offload := offloadFor(spec.rules()); offload != c.offload {
		if err := c.tap.SetOffload(offload); err != nil {
			return nil, err
		}
		c.offload = offload
	}
	before := c.rules()
	c.Class = spec
	if slices.Equal(before, spec.rules()) {
		return c, nil
	}
	return c, e.loop.do(func() { c.links.Change(spec.rules()...) })
}

func (e *Emulator) create(spec Class) (*class, error) {
	number := 0
	used := map[int]bool{}
	for _, c := range e.classes {
		used[c.number] = true
	}
	for used[number] {
		number++
	}
	if err := e.classifier.ResetDrops(number); err != nil {
		return nil, err
	}
	// The interface's name must differ from that of a retired class's TAP
	// that still drains: the kernel fills in the %d.
	tap, err := link.OpenTAP(fmt.Sprintf("%s%dc%%d", tapPrefix, e.device.Index), max(e.device.MTU, minMTU))
	if err != nil {
		return nil, err
	}
	offload := offloadFor(spec.rules())
	if err := tap.SetOffload(offload); err != nil {
		tap.Close()
		return nil, err
	}
	return &class{Class: spec, number: number, tap: tap, offload: offload, links: shape.NewPipeline(spec.rules()...)}, nil
}

// divert makes the classifier hold what is wanted, first what is added or
// changed, then what is not wanted any more, so that no frame finds a gap.
func divert[Key comparable](
	held, wanted map[Key]link.Target,
	set func(Key, link.Target) error,
	remove func(Key) error,
) error {
	for key, target := range wanted {
		if before, there := held[key]; there && before == target {
			continue
		}
		if err := set(key, target); err != nil {
			return err
		}
		held[key] = target
	}
	for key := range held {
		if _, stays := wanted[key]; stays {
			continue
		}
		if err := remove(key); err != nil {
			return err
		}
		delete(held, key)
	}
	return nil
}

// settle drops the queues of cut classes and retires those not named.
func (e *Emulator) settle(names map[string]bool) error {
	for name, c := range maps.Clone(e.classes) {
		switch {
		case !names[name]:
			delete(e.classes, name)
			if err := e.loop.do(func() {
				c.retiring, c.retireAt = true, e.loop.now()+lingering
			}); err != nil {
				return err
			}
		case c.cut():
			if err := e.loop.do(func() { e.loop.purge(c) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// Status is an emulator as it is at work.
type Status struct {
	Device     string          `json:"device"`
	Started    time.Time       `json:"started"`
	Scheduling link.Scheduling `json:"scheduling"`
	Classes    []ClassStatus   `json:"classes"`
}

// Status reports the classes in force, by name, with their counters.
func (e *Emulator) Status() (Status, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	status := Status{Device: e.device.Name, Started: e.started, Classes: []ClassStatus{}}
	var errs []error
	// The histograms are large: copied on the loop's thread, read here.
	late := map[string]queue.Lateness{}
	err := e.loop.do(func() {
		status.Scheduling = e.loop.scheduling
		for name, c := range e.classes {
			counters := c.counters
			counters.Queued = c.underway
			late[name] = c.late
			status.Classes = append(status.Classes, ClassStatus{Class: c.Class, Counters: counters})
		}
	})
	if err != nil {
		return status, err
	}
	for i := range status.Classes {
		class := &status.Classes[i]
		histogram := late[class.Name]
		class.LateP99, class.LateWorst = histogram.Quantile(0.99), histogram.Worst()
		drops, err := e.classifier.Drops(e.classes[class.Name].number)
		errs = append(errs, err)
		class.Dropped += drops
	}
	slices.SortFunc(status.Classes, func(a, b ClassStatus) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return status, errors.Join(errs...)
}
