// SPDX-License-Identifier: Apache-2.0

package drill

import "geosql.dev/operator/api/v1alpha1"

// sight is what one look shows of a fault: all that decides how it goes on.
type sight string

const (
	// seenEarly: its time has not come.
	seenEarly sight = "Early"
	// seenDue: its time has come, and what it consists of is known.
	seenDue sight = "Due"
	// seenUnresolved: its time has come, and what it names is not there, as a role that nobody plays.
	seenUnresolved sight = "Unresolved"
	// seenExpired: that has been so for too long, or none of it could be done in time.
	seenExpired sight = "Expired"
	// seenMoved: none of it is done, and it consists of something else now than its status says.
	seenMoved sight = "Moved"
	// seenReady: it consists of what its status says, and not all of that is there.
	seenReady sight = "Ready"
	// seenComplete: all of its objects are there.
	seenComplete sight = "Complete"
	// seenLasting: its time is not over, or its effect is still looked for.
	seenLasting sight = "Lasting"
	// seenOver: its time is over, or what is done at once was seen to be done.
	seenOver sight = "Over"
	// seenLeft: something of it is there, or may be.
	seenLeft sight = "Left"
	// seenGone: nothing of it is there any more. Of one that was never injected that is seenNever.
	seenGone, seenNever sight = "Gone", "Never"
	// seenAborted: the run is ended early.
	seenAborted sight = "Aborted"
)

// faultStep is what is done about a fault.
type faultStep string

const (
	// declareFault says in the status what the fault consists of, before anything of it is done.
	declareFault faultStep = "Declare"
	// injectFault creates its objects, or stops engines.
	injectFault faultStep = "Inject"
	// takeBackFault deletes its objects, or lets engines go on.
	takeBackFault faultStep = "TakeBack"
	// endFault notes that it is over.
	endFault faultStep = "End"
)

// transition is the state of a fault after a look, what is done about it, and the state once all of that has been done.
type transition struct {
	next v1alpha1.FaultState
	step faultStep
	then v1alpha1.FaultState
}

// transitions are all those of a fault: its state, what is seen of it, and what follows. What is not here cannot be
// seen in that state, or changes nothing.
var transitions = map[v1alpha1.FaultState]map[sight]transition{
	v1alpha1.FaultWaiting: {
		seenEarly:      {next: v1alpha1.FaultWaiting},
		seenUnresolved: {next: v1alpha1.FaultWaiting},
		seenExpired:    {next: v1alpha1.FaultSkipped},
		seenDue:        {next: v1alpha1.FaultInjecting, step: declareFault},
		seenAborted:    {next: v1alpha1.FaultSkipped},
	},
	v1alpha1.FaultInjecting: {
		seenUnresolved: {next: v1alpha1.FaultInjecting},
		seenMoved:      {next: v1alpha1.FaultInjecting, step: declareFault},
		seenReady:      {next: v1alpha1.FaultInjecting, step: injectFault, then: v1alpha1.FaultActive},
		seenComplete:   {next: v1alpha1.FaultActive},
		seenOver:       {next: v1alpha1.FaultRemoving},
		seenExpired:    {next: v1alpha1.FaultRemoving},
		seenAborted:    {next: v1alpha1.FaultRemoving},
	},
	v1alpha1.FaultActive: {
		seenLasting: {next: v1alpha1.FaultActive},
		seenOver:    {next: v1alpha1.FaultRemoving},
		seenAborted: {next: v1alpha1.FaultRemoving},
	},
	v1alpha1.FaultRemoving: {
		seenLeft:  {next: v1alpha1.FaultRemoving, step: takeBackFault},
		seenGone:  {next: v1alpha1.FaultRemoved, step: endFault},
		seenNever: {next: v1alpha1.FaultSkipped},
	},
}
