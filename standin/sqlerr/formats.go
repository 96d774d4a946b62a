// SPDX-License-Identifier: Apache-2.0

package sqlerr

// formats has the texts of messages, worded in SQL Server's manner; the verbs are in the order of
// catalog.Error(number).Parameters.
var formats = map[int32]string{
	102: "Incorrect syntax near '%s'.",
}

// notListed has the severities of numbers that catalog does not list, with the document that gives them.
var notListed = map[int32]struct {
	severity uint8
	doc      string
}{}
