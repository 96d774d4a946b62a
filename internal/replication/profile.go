// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Profile reads an AgentProfile; nil without a name. missing says that it does not exist (yet).
func Profile(
	ctx context.Context,
	reader client.Reader,
	namespace string,
	name v1alpha1.ObjectName,
) (spec *v1alpha1.AgentProfileSpec, missing string, err error) {
	if name == "" {
		return nil, "", nil
	}
	var profile v1alpha1.AgentProfile
	err = reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(name)}, &profile)
	if apierrors.IsNotFound(err) {
		return nil, "AgentProfile " + string(name), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read AgentProfile %s/%s: %w", namespace, name, err)
	}
	return &profile.Spec, "", nil
}

// longestMessage is what an AgentStatus has room for.
const longestMessage = 4096

// historyFor is how long a status stays as it is while nothing in it but the time of an agent's history has changed.
const historyFor = time.Minute

// AgentStatus is an agent as status has it, after one that is there. A job that does not run says more than the last
// history row, and why the last attempt failed more than that another one has begun.
func AgentStatus(have *v1alpha1.AgentStatus, agent *mssql.Agent, job *mssql.Job) *v1alpha1.AgentStatus {
	s := agentStatus(agent, job)
	if have == nil || s == nil || have.Time == nil || s.Time == nil || s.Time.Sub(have.Time.Time).Abs() >= historyFor {
		return s
	}
	same := *s
	if same.Time = have.Time; reflect.DeepEqual(&same, have) {
		return &same
	}
	return s
}

func agentStatus(agent *mssql.Agent, job *mssql.Job) *v1alpha1.AgentStatus {
	if agent == nil {
		return nil
	}
	state, message := agent.Status, agent.Message
	switch state {
	case mssql.RunStarted, mssql.RunInProgress, mssql.RunIdle:
		if agent.Failure != 0 {
			state, message = agent.Failure, agent.FailureMessage
		} else if job != nil && job.BetweenRetries {
			state = mssql.RunRetrying
		}
	}
	s := &v1alpha1.AgentStatus{
		Name:    agent.Name,
		State:   state.String(),
		Message: conditions.Shorten(message, longestMessage),
	}
	if !agent.Time.IsZero() {
		at := metav1.NewTime(agent.Time).Rfc3339Copy()
		s.Time = &at
	}
	if !agent.ErrorTime.IsZero() {
		at := metav1.NewTime(agent.ErrorTime).Rfc3339Copy()
		s.LastErrorCode, s.LastErrorTime = agent.ErrorCode, &at
	}
	switch state {
	case mssql.RunStarted, mssql.RunInProgress, mssql.RunIdle, mssql.RunRetrying:
		if job != nil && !job.Running {
			s.State = mssql.RunSucceeded.String()
		}
	}
	return s
}
