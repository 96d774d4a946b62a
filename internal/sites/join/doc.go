// SPDX-License-Identifier: Apache-2.0

// Package join makes a cluster a member: an account with exactly the rights that the manager needs there, and a Site
// with that account's credentials in the hub. Everything is applied, so that it can be run again: to renew the
// credentials, to add a namespace, or after an interruption.
package join
