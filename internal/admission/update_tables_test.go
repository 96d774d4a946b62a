// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

// updateRefusals are checked like refusals: images, and when another one is taken.
var updateRefusals = []refusal{
	{"an image that is none", "", with(server, "NAME", "s", "image: engine", "image: 'Engine:1'"),
		[]string{"spec.image", "no name of an image", "2022-CU25"}},
	{"an update policy that is none", "", with(server, "NAME", "s") + "  updatePolicy: Never\n",
		[]string{"spec.updatePolicy", `"Automatic", "OnRequest"`}},
	{"a window at no time", "",
		with(server, "NAME", "s") + "  maintenanceWindows: [{schedule: at night, duration: 2h}]\n",
		[]string{"spec.maintenanceWindows[0].schedule", "cron's five fields"}},
	{"a window each day of an interval", "",
		with(server, "NAME", "s") + "  maintenanceWindows: [{schedule: '@every 24h', duration: 2h}]\n",
		[]string{"spec.maintenanceWindows[0].schedule", "cron's five fields"}},
	{"a window of no zone", "", with(server, "NAME", "s") +
		"  maintenanceWindows: [{schedule: 0 3 * * 0, timeZone: Nowhere/Town, duration: 2h}]\n",
		[]string{"spec.maintenanceWindows[0].timeZone", "tz database"}},
	{"a window of a minute", "",
		with(server, "NAME", "s") + "  maintenanceWindows: [{schedule: 0 3 * * 0, duration: 1m}]\n",
		[]string{"spec.maintenanceWindows[0].duration", "between 5m and 168h"}},
	{"a window without an end", "", with(server, "NAME", "s") + "  maintenanceWindows: [{schedule: 0 3 * * 0}]\n",
		[]string{"spec.maintenanceWindows[0].duration", "Required value"}},
}
