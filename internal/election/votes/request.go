// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"encoding/json"
	"fmt"
	"time"
)

// Annotations of a group's Lease by which people, the manager and the agents speak to each other.
const (
	// AnnotationRequest is on the Lease of any one voter; agents read it at every voter that they reach.
	AnnotationRequest = "geosql.dev/request"
	// AnnotationAnswer is what came of the newest request, on all Leases that could be written.
	AnnotationAnswer = "geosql.dev/answer"
	// AnnotationTimelines is a JSON array of the last timelines, newest last.
	AnnotationTimelines = "geosql.dev/timelines"
	// AnnotationPaused is "true" while no agent may begin an election by itself. One voter's word is enough, unless
	// another's is newer.
	AnnotationPaused = "geosql.dev/paused"
	// AnnotationPausedAt is when the Pause or Resume was issued that AnnotationPaused is of: of several voters the newest
	// counts, and of the same time "true".
	AnnotationPausedAt = "geosql.dev/paused-at"
)

// RequestKind is what a request asks for.
type RequestKind string

const (
	// RequestSwitchover moves the primary without losing anything, while the old one lives.
	RequestSwitchover RequestKind = "Switchover"
	// RequestFailover makes another server primary although the old one does not take part.
	RequestFailover RequestKind = "Failover"
	// RequestPause forbids automatic elections.
	RequestPause RequestKind = "Pause"
	// RequestResume allows them again.
	RequestResume RequestKind = "Resume"
	// RequestRejoin lets a quarantined replica (To) follow again: what it alone has is taken back.
	RequestRejoin RequestKind = "Rejoin"
	// RequestReseed lets a replica (To) be seeded anew: the copies of the group's databases are dropped that are stale, or
	// all where it is quarantined.
	RequestReseed RequestKind = "Reseed"
	// RequestReseedDatabases is a Reseed of some Databases. It has a kind of its own, because agents of earlier releases
	// would take a Reseed for one of all.
	RequestReseedDatabases RequestKind = "ReseedDatabases"
)

// Request is what somebody wants done with a group. It is carried out once, known by its ID.
type Request struct {
	// ID tells this request from all others, such as the UID of a Failover.
	ID string `json:"id"`
	// Kind of the request.
	Kind RequestKind `json:"kind"`
	// To is the server, "<object name>-0". Empty lets a Failover choose the best one.
	To string `json:"to,omitempty"`
	// Databases that a ReseedDatabases is about.
	Databases []string `json:"databases,omitempty"`
	// AllowDataLoss lets a Failover force a replica that may lack acknowledged writes.
	AllowDataLoss bool `json:"allowDataLoss,omitempty"`
	// FencedHolder is a person's word that exactly this holder (Holder.String) is fenced for good, so that nobody has to
	// wait for its votes to expire.
	FencedHolder string `json:"fencedHolder,omitempty"`
	// ExpectedTerm, when not 0, refuses the request in any other term.
	ExpectedTerm int64 `json:"expectedTerm,omitempty"`
	// Issued is the wall time at which the request was made: among several the newest counts.
	Issued time.Time `json:"issued"`
	// ExpiresSeconds after Issued nobody begins to carry the request out any more; 0 means DefaultRequestLife.
	ExpiresSeconds int `json:"expiresSeconds,omitempty"`
	// By names who asks, for people.
	By string `json:"by,omitempty"`
	// Failover is the name of the Failover object at the hub, empty if the request was made at a site.
	Failover string `json:"failover,omitempty"`
}

// DefaultRequestLife is how long a request may wait for somebody to begin with it.
const DefaultRequestLife = 2 * time.Minute

// maxRequestBytes bounds what is read from an annotation that anybody with rights on the Lease may write.
const maxRequestBytes = 16 << 10

// ParseRequest reads the request of a Lease's annotations; false when there is none.
func ParseRequest(annotations map[string]string) (Request, bool, error) {
	text := annotations[AnnotationRequest]
	if text == "" {
		return Request{}, false, nil
	}
	var r Request
	if len(text) > maxRequestBytes {
		return Request{}, false, fmt.Errorf("annotation %s is longer than %d bytes", AnnotationRequest, maxRequestBytes)
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Request{}, false, fmt.Errorf("annotation %s: %w", AnnotationRequest, err)
	}
	if err := r.Check(); err != nil {
		return Request{}, false, fmt.Errorf("annotation %s: %w", AnnotationRequest, err)
	}
	return r, true, nil
}

// Annotate writes the request among a Lease's annotations.
func (r Request) Annotate(annotations map[string]string) {
	annotations[AnnotationRequest] = EncodeNote(r)
}

// Check says what is wrong with the request by itself, without knowing the group.
func (r Request) Check() error {
	if r.ID == "" || r.Issued.IsZero() {
		return fmt.Errorf("a request needs an id and the time at which it was issued")
	}
	switch r.Kind {
	case RequestSwitchover, RequestRejoin, RequestReseed, RequestReseedDatabases:
		if r.To == "" {
			return fmt.Errorf("a %s needs the server that it is about (to)", r.Kind)
		}
	case RequestFailover, RequestPause, RequestResume:
	default:
		return fmt.Errorf("kind %q is not Switchover, Failover, Pause, Resume, Rejoin, Reseed or ReseedDatabases", r.Kind)
	}
	if (r.Kind == RequestReseedDatabases) != (len(r.Databases) > 0) {
		return fmt.Errorf("databases go with kind %s, and with no other", RequestReseedDatabases)
	}
	if r.AllowDataLoss && r.Kind != RequestFailover {
		return fmt.Errorf("only a Failover may allow data loss")
	}
	if r.FencedHolder != "" {
		if r.Kind != RequestFailover {
			return fmt.Errorf("only a Failover may say that a holder is fenced")
		}
		if _, err := ParseHolder(r.FencedHolder); err != nil {
			return err
		}
	}
	return nil
}

// Fences says whether a person's word is about the run of the engine that holds the votes. The nonce is not compared:
// it is another at every renewal, and not the same at a voter that missed the last one.
func (r Request) Fences(holder Holder) bool {
	word, err := ParseHolder(r.FencedHolder)
	return err == nil && word.Server != "" && word.SameRun(holder)
}

// Expired says whether nobody may begin with the request any more, at a wall time.
func (r Request) Expired(now time.Time) bool { return now.After(r.Expires()) }

// Expires is the wall time after which nobody may begin with the request any more.
func (r Request) Expires() time.Time { return r.Issued.Add(r.Life()) }

// Life is how long the request may wait for somebody to begin with it.
func (r Request) Life() time.Duration {
	if r.ExpiresSeconds > 0 {
		return time.Duration(r.ExpiresSeconds) * time.Second
	}
	return DefaultRequestLife
}

// AnswerOutcome is what became of a request or of an election.
type AnswerOutcome string

const (
	// OutcomeAccepted means that somebody has begun.
	OutcomeAccepted AnswerOutcome = "Accepted"
	// OutcomeRefused means that nothing was touched.
	OutcomeRefused AnswerOutcome = "Refused"
	// OutcomeDone means that what was asked for is so.
	OutcomeDone AnswerOutcome = "Done"
	// OutcomeFailed means that it was tried and is not so.
	OutcomeFailed AnswerOutcome = "Failed"
	// OutcomeUnknown means that nobody can tell any more.
	OutcomeUnknown AnswerOutcome = "Unknown"
)

// Reasons of answers.
const (
	// ReasonExpired: nobody began in time.
	ReasonExpired = "Expired"
	// ReasonNotAReplica: the group has no such replica, or it holds no databases.
	ReasonNotAReplica = "NotAReplica"
	// ReasonAlreadyPrimary: the target is the primary.
	ReasonAlreadyPrimary = "AlreadyPrimary"
	// ReasonNoPrimary: a switchover needs a living primary, a reseed one that the replica is connected to.
	ReasonNoPrimary = "NoPrimary"
	// ReasonNotSynchronized: the target lacks acknowledged writes.
	ReasonNotSynchronized = "NotSynchronized"
	// ReasonNotSynchronous: the target is an asynchronous replica.
	ReasonNotSynchronous = "NotSynchronous"
	// ReasonReverting: a database of the target is REVERTING or INITIALIZING.
	ReasonReverting = "Reverting"
	// ReasonSuspended: data movement of a database of the target is suspended.
	ReasonSuspended = "Suspended"
	// ReasonTargetUnreachable: the target's agent does not answer.
	ReasonTargetUnreachable = "TargetUnreachable"
	// ReasonNoQuorum: too few replicas reported, or too few votes were granted.
	ReasonNoQuorum = "NoQuorum"
	// ReasonHolderAlive: the present holder renews its votes; a switchover is what moves it.
	ReasonHolderAlive = "HolderAlive"
	// ReasonOtherHolder: the fenced holder is not the one that the votes name.
	ReasonOtherHolder = "OtherHolder"
	// ReasonSuperseded: the group is in another term than the request expects, or was paused or resumed since it was
	// issued.
	ReasonSuperseded = "Superseded"
	// ReasonEngineRefused: the engine refused the statement.
	ReasonEngineRefused = "EngineRefused"
	// ReasonOwnData: the copy may have what nobody else has, or is another group's, so it is not given up.
	ReasonOwnData = "OwnData"
	// ReasonNoSuchDatabase: the group has no database of the name.
	ReasonNoSuchDatabase = "NoSuchDatabase"
	// ReasonNotQuarantined: the replica follows, and no copy of it is stale; there is nothing to release.
	ReasonNotQuarantined = "NotQuarantined"
	// ReasonPromoted: the target is primary.
	ReasonPromoted = "Promoted"
)

// Answer is what came of a request.
type Answer struct {
	// ID of the request.
	ID string `json:"id"`
	// Outcome so far.
	Outcome AnswerOutcome `json:"outcome"`
	// Reason is one of the Reason constants.
	Reason string `json:"reason,omitempty"`
	// Message for people; no secrets.
	Message string `json:"message,omitempty"`
	// Term that the request led to, 0 for none.
	Term int64 `json:"term,omitempty"`
	// By is the server that answers.
	By string `json:"by,omitempty"`
	// At is the wall time of the answer.
	At time.Time `json:"at,omitzero"`
	// Issued is the request's: nobody begins with an older one any more, not even where the newer one is not seen. Zero
	// from agents that did not write it.
	Issued time.Time `json:"issued,omitzero"`
}

// Final says whether the outcome will not change any more.
func (a Answer) Final() bool { return a.Outcome != OutcomeAccepted && a.Outcome != "" }

// Newer says whether the first of two requests counts; IDs decide between equal times.
func Newer(at time.Time, id string, thanAt time.Time, thanID string) bool {
	return at.After(thanAt) || at.Equal(thanAt) && id > thanID
}

// Overtakes tells that the answer is to another request than this one, and one that counts before it: nobody begins
// with it any more.
func (a Answer) Overtakes(id string, issued time.Time) bool {
	return a.ID != id && Newer(a.Issued, a.ID, issued, id)
}

// ParseAnswer reads the answer of a Lease's annotations; false when there is none.
func ParseAnswer(annotations map[string]string) (Answer, bool, error) {
	text := annotations[AnnotationAnswer]
	if text == "" {
		return Answer{}, false, nil
	}
	var a Answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return Answer{}, false, fmt.Errorf("annotation %s: %w", AnnotationAnswer, err)
	}
	return a, true, nil
}

// EncodeNote encodes one of this package's own types, none of which can fail.
func EncodeNote(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return string(text)
}

// Pauses says whether the request is about automatic elections.
func (r *Request) Pauses() bool { return r.Kind == RequestPause || r.Kind == RequestResume }

// Decides says whether the request is a person's decision about what one replica alone has.
func (r *Request) Decides() bool { return r.Kind == RequestRejoin || r.Reseeds() }

// Reseeds says whether the request gives up copies so that they are seeded anew.
func (r *Request) Reseeds() bool { return r.Kind == RequestReseed || r.Kind == RequestReseedDatabases }
