// SPDX-License-Identifier: Apache-2.0

// Package reach measures from a pod of one site how a pod of another one is reached: names, connections, round trip,
// packets of full size. `geosql probe serve` answers, `geosql probe ask` asks. It runs in the pods that
// `kubectl geosql check --probe` makes, and knows no cluster.
package reach

import (
	"strconv"
	"time"
)

const (
	// DefaultBytes is how much is sent each way: more than a path holds in packets that are not answered, so that one
	// that swallows full ones shows.
	DefaultBytes = 64 << 10
	// maxBytes is how much anybody is given who asks.
	maxBytes = 1 << 20
	// DefaultCount is how many connections are timed; the median counts.
	DefaultCount = 9
)

// Failure is how a connection or a transfer failed. What is not told apart here has its error alone.
type Failure string

const (
	// Silent is an address that does not answer, or data that does not arrive.
	Silent Failure = "Silent"
	// Refused is a connection that was turned away: nobody listens, or a policy or a firewall says so.
	Refused Failure = "Refused"
	// NoWay is an address to which no route leads.
	NoWay Failure = "NoWay"
	// Another is an address at which something else answers.
	Another Failure = "Another"
	// NoName is a name that is not resolved.
	NoName Failure = "NoName"
	// Other failures have their error.
	Other Failure = "Other"
)

// Options say what is asked.
type Options struct {
	// Run is what the other side must know, too: another run's pod, or something else at its address, does not.
	Run string
	// To are addresses of the other side, host:port.
	To []string
	// Closed are addresses of the other side that no policy lets anybody reach.
	Closed []string
	// Names to be resolved.
	Names []string
	// Connect are addresses of something else: one connection, and no word.
	Connect []string
	// Bytes to send each way, and Count of connections to time.
	Bytes, Count int
	// Timeout of one connection or transfer. Patience is how long an address may take until it answers at first:
	// Services and policies come into force some time after they are made.
	Timeout, Patience time.Duration
}

// Arguments are those of the program that asks so.
func (o Options) Arguments() []string {
	arguments := []string{"probe", "ask", "--" + flagRun + "=" + o.Run, "--" + flagTimeout + "=" + o.Timeout.String(),
		"--" + flagPatience + "=" + o.Patience.String()}
	for _, list := range []struct {
		flag  string
		texts []string
	}{{flagTo, o.To}, {flagClosed, o.Closed}, {flagName, o.Names}, {flagConnect, o.Connect}} {
		for _, text := range list.texts {
			arguments = append(arguments, "--"+list.flag+"="+text)
		}
	}
	return arguments
}

// ServeArguments are those of the program that answers at these ports.
func ServeArguments(run string, ports []int32) []string {
	arguments := []string{"probe", "serve", "--" + flagRun + "=" + run}
	for _, port := range ports {
		arguments = append(arguments, "--"+flagPort+"="+strconv.Itoa(int(port)))
	}
	return arguments
}

// Answer is what was found.
type Answer struct {
	// Ports are those of Options.To, Closed and Connect those of the same names, in their order.
	Ports   []Port `json:"ports,omitempty"`
	Closed  []Port `json:"closed,omitempty"`
	Connect []Port `json:"connect,omitempty"`
	Names   []Name `json:"names,omitempty"`
	// Way is that to the first of Ports that answered; nil when none did.
	Way *Way `json:"way,omitempty"`
}

// Port is an address that was tried.
type Port struct {
	To string `json:"to"`
	// Failure is empty when it answered.
	Failure Failure `json:"failure,omitempty"`
	Error   string  `json:"error,omitempty"`
}

// Name is one that was looked up.
type Name struct {
	Name      string        `json:"name"`
	Addresses []string      `json:"addresses,omitempty"`
	Took      time.Duration `json:"took"`
	Error     string        `json:"error,omitempty"`
}

// Way is how data goes to an address and back.
type Way struct {
	To string `json:"to"`
	// RoundTrip is the median of the times of Connections that were made.
	RoundTrip   time.Duration `json:"roundTrip"`
	Connections int           `json:"connections"`
	// Lost are connections that failed though others did not.
	Lost int `json:"lost,omitempty"`
	// There is what was sent to the address, Back what it sent.
	There Transfer `json:"there"`
	Back  Transfer `json:"back"`
	// Interface is the MTU of the pod's interface, Path that of the path as the kernel knows it after a transfer, and
	// Segment the most data in one packet; 0 where it is not told.
	Interface int `json:"interface,omitempty"`
	Path      int `json:"path,omitempty"`
	Segment   int `json:"segment,omitempty"`
}

// Transfer is some data that was sent.
type Transfer struct {
	Bytes int `json:"bytes"`
	// Took is how long that took, until the other side said that it has it, or until all was here.
	Took    time.Duration `json:"took,omitempty"`
	Failure Failure       `json:"failure,omitempty"`
	Error   string        `json:"error,omitempty"`
}
