// SPDX-License-Identifier: Apache-2.0

package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Everything is the priority under which SetPriority diverts all IP traffic
// that nothing more specific matches.
const Everything = 0xffffffff

// maxClasses bounds the classes, maxDestinations the prefixes, of one device.
const (
	maxClasses      = 64
	maxDestinations = 1024
)

// Target is where the classifier sends a frame.
type Target struct {
	// Interface is the index of the TAP, or 0 to drop the frame.
	Interface int
	// Class is the number under which drops are counted, 0 to 63.
	Class int
}

// Classifier is the program on a device's egress. It lets pass what the
// emulator sent itself and what is not IP (address resolution must not be
// delayed), then looks up skb->priority, the IPv4 destination, and Everything.
// What nothing matches goes on to the programs and the qdisc behind it.
type Classifier struct {
	program      *ebpf.Program
	attachment   link.Link
	priorities   *ebpf.Map
	destinations *ebpf.Map
	drops        *ebpf.Map
}

// AttachClassifier loads the program and attaches it to the device.
func AttachClassifier(device int) (_ *Classifier, err error) {
	c := &Classifier{}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if c.priorities, err = ebpf.NewMap(&ebpf.MapSpec{Name: "netem_priority", Type: ebpf.Hash, KeySize: 4, ValueSize: 8,
		MaxEntries: maxClasses}); err != nil {
		return nil, fmt.Errorf("make priority map: %w (BPF or SYS_ADMIN is needed)", err)
	}
	if c.destinations, err = ebpf.NewMap(&ebpf.MapSpec{Name: "netem_dst", Type: ebpf.LPMTrie, KeySize: 8, ValueSize: 8,
		MaxEntries: maxDestinations, Flags: unix.BPF_F_NO_PREALLOC}); err != nil {
		return nil, fmt.Errorf("make destination map: %w", err)
	}
	if c.drops, err = ebpf.NewMap(&ebpf.MapSpec{Name: "netem_drops", Type: ebpf.Array, KeySize: 4, ValueSize: 8,
		MaxEntries: maxClasses}); err != nil {
		return nil, fmt.Errorf("make drop counters: %w", err)
	}
	c.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "netem", Type: ebpf.SchedCLS, AttachType: ebpf.AttachTCXEgress,
		Instructions: c.instructions(), License: "Apache-2.0",
	})
	if err != nil {
		return nil, fmt.Errorf("load classifier: %w", err)
	}
	c.attachment, err = link.AttachTCX(
		link.TCXOptions{Interface: device, Program: c.program, Attach: ebpf.AttachTCXEgress},
	)
	if err != nil {
		return nil, fmt.Errorf("attach classifier to interface %d: %w (TCX came with Linux 6.6)", device, err)
	}
	return c, nil
}

// Offsets into struct __sk_buff (linux/bpf.h) and values of enum tcx_action.
const (
	skbMark     = 8
	skbProtocol = 16
	skbPriority = 32

	tcxNext = -1
	tcxDrop = 2
)

// Stack slots of the program, below the frame pointer.
const (
	slotKey    = -4  // priority or class number
	slotPrefix = -16 // prefix length, then address
)

func bigEndian16(value uint16) int32 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], value)
	return int32(binary.NativeEndian.Uint16(b[:]))
}

// lookup leaves the address of a map's value for the key in slot, or 0, in R0.
func lookup(m *ebpf.Map, slot int32) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, slot),
		asm.FnMapLookupElem.Call(),
	}
}

// instructions is the whole program: R6 holds the frame, R7 its protocol.
func (c *Classifier) instructions() asm.Instructions {
	return slices.Concat(c.match(), asm.Instructions{
		asm.Mov.Imm(asm.R0, tcxNext).WithSymbol("pass"),
		asm.Return(),
	}, c.divert())
}

// match goes to "pass", or to "matched" with the address of a Target in R0, or
// falls through if nothing matches.
func (c *Classifier) match() asm.Instructions {
	return slices.Concat(
		asm.Instructions{
			asm.Mov.Reg(asm.R6, asm.R1),
			asm.LoadMem(asm.R2, asm.R6, skbMark, asm.Word),
			asm.JEq.Imm(asm.R2, Mark, "pass"),
			asm.LoadMem(asm.R7, asm.R6, skbProtocol, asm.Word),
			asm.JEq.Imm(asm.R7, bigEndian16(unix.ETH_P_IP), "ip"),
			asm.JNE.Imm(asm.R7, bigEndian16(unix.ETH_P_IPV6), "pass"),
			asm.LoadMem(asm.R2, asm.R6, skbPriority, asm.Word).WithSymbol("ip"),
			asm.StoreMem(asm.RFP, slotKey, asm.R2, asm.Word),
		},
		lookup(c.priorities, slotKey),
		asm.Instructions{
			asm.JNE.Imm(asm.R0, 0, "matched"),
			asm.JNE.Imm(asm.R7, bigEndian16(unix.ETH_P_IP), "everything"),
			// The destination is at 16 in the IPv4 header, behind Ethernet's.
			asm.StoreImm(asm.RFP, slotPrefix, 32, asm.Word),
			asm.Mov.Reg(asm.R1, asm.R6),
			asm.Mov.Imm(asm.R2, ethernetHeader+16),
			asm.Mov.Reg(asm.R3, asm.RFP),
			asm.Add.Imm(asm.R3, slotPrefix+4),
			asm.Mov.Imm(asm.R4, 4),
			asm.FnSkbLoadBytes.Call(),
			asm.JNE.Imm(asm.R0, 0, "everything"),
		},
		lookup(c.destinations, slotPrefix),
		asm.Instructions{
			asm.JNE.Imm(asm.R0, 0, "matched"),
			asm.StoreImm(asm.RFP, slotKey, -1, asm.Word).WithSymbol("everything"),
		},
		lookup(c.priorities, slotKey),
		asm.Instructions{asm.JNE.Imm(asm.R0, 0, "matched")},
	)
}

// divert sends a matched frame to its Target's TAP, or counts and drops it.
func (c *Classifier) divert() asm.Instructions {
	return slices.Concat(
		asm.Instructions{
			asm.LoadMem(asm.R1, asm.R0, 0, asm.Word).WithSymbol("matched"),
			asm.JEq.Imm(asm.R1, 0, "drop"),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRedirect.Call(),
			asm.Return(),
			asm.LoadMem(asm.R2, asm.R0, 4, asm.Word).WithSymbol("drop"),
			asm.StoreMem(asm.RFP, slotKey, asm.R2, asm.Word),
		},
		lookup(c.drops, slotKey),
		asm.Instructions{
			asm.JEq.Imm(asm.R0, 0, "dropped"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, tcxDrop).WithSymbol("dropped"),
			asm.Return(),
		},
	)
}

func (t Target) value() []byte {
	value := binary.NativeEndian.AppendUint32(nil, uint32(t.Interface))
	return binary.NativeEndian.AppendUint32(value, uint32(t.Class))
}

func prefixKey(prefix netip.Prefix) ([]byte, error) {
	if !prefix.IsValid() || !prefix.Addr().Is4() {
		return nil, fmt.Errorf("%s is not an IPv4 prefix", prefix)
	}
	key := binary.NativeEndian.AppendUint32(nil, uint32(prefix.Bits()))
	address := prefix.Masked().Addr().As4()
	return append(key, address[:]...), nil
}

// SetDestination diverts the traffic to an IPv4 prefix; the longest prefix
// wins. Replacing a target is atomic.
func (c *Classifier) SetDestination(prefix netip.Prefix, target Target) error {
	key, err := prefixKey(prefix)
	if err != nil {
		return err
	}
	if err := c.destinations.Put(key, target.value()); err != nil {
		return fmt.Errorf("divert traffic to %s: %w", prefix, err)
	}
	return nil
}

// RemoveDestination lets traffic to the prefix pass again. It is no error if
// it passes already.
func (c *Classifier) RemoveDestination(prefix netip.Prefix) error {
	key, err := prefixKey(prefix)
	if err != nil {
		return err
	}
	if err := c.destinations.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("stop diverting traffic to %s: %w", prefix, err)
	}
	return nil
}

// SetPriority diverts traffic whose skb->priority has this value (iptables
// CLASSIFY sets it to a class id, major in the upper 16 bits), or with
// Everything all IP traffic that nothing else matches.
func (c *Classifier) SetPriority(priority uint32, target Target) error {
	if err := c.priorities.Put(priority, target.value()); err != nil {
		return fmt.Errorf("divert traffic of priority %#x: %w", priority, err)
	}
	return nil
}

// RemovePriority undoes SetPriority. It is no error if there is nothing to undo.
func (c *Classifier) RemovePriority(priority uint32) error {
	if err := c.priorities.Delete(priority); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("stop diverting traffic of priority %#x: %w", priority, err)
	}
	return nil
}

// Drops returns how many frames were dropped for a class since the start.
func (c *Classifier) Drops(class int) (uint64, error) {
	var count uint64
	if err := c.drops.Lookup(uint32(class), &count); err != nil {
		return 0, fmt.Errorf("read drop counter: %w", err)
	}
	return count, nil
}

// ResetDrops sets the counter of a class to 0, for a class that takes over the
// number.
func (c *Classifier) ResetDrops(class int) error {
	if err := c.drops.Put(uint32(class), uint64(0)); err != nil {
		return fmt.Errorf("reset drop counter: %w", err)
	}
	return nil
}

// Close detaches the program; traffic goes straight out from then on.
func (c *Classifier) Close() {
	if c.attachment != nil {
		c.attachment.Close()
	}
	if c.program != nil {
		c.program.Close()
	}
	for _, m := range []*ebpf.Map{c.priorities, c.destinations, c.drops} {
		if m != nil {
			m.Close()
		}
	}
}
