// SPDX-License-Identifier: Apache-2.0

package tsql

// repeated are the errors with which a procedure refuses to do what is done already: there is what it would add, or
// there is nothing that it could drop. They are the engine's answers to a call whose first answer was lost. Sources:
// docs/relational-databases/errors-events/database-engine-events-and-errors-14000-to-14999.md, and ...-20000 to 21999;
// docs/relational-databases/system-stored-procedures/ for the procedures.
var repeated = map[string][]int32{
	"sys.sp_adddistributor":            {14099},
	"sys.sp_adddistributiondb":         {14119},
	"sys.sp_adddistpublisher":          {14074},
	"sys.sp_addlogreader_agent":        {21831},
	"sys.sp_addpublication":            {14016},
	"sys.sp_addpublication_snapshot":   {14101},
	"sys.sp_addarticle":                {14030},
	"sys.sp_addsubscription":           {14058},
	"sys.sp_addpullsubscription":       {14058},
	"sys.sp_addsubscriber":             {14040},
	"sys.sp_addpushsubscription_agent": {21837},
	"sys.sp_addlinkedserver":           {15028},
	"msdb.dbo.sp_add_job":              {14261},
	"msdb.dbo.sp_add_jobstep":          {14261},
	"msdb.dbo.sp_add_jobserver":        {14269},
	"sys.sp_dropsubscription":          {14050},
	"sys.sp_droppullsubscription":      {14135},
	"sys.sp_subscription_cleanup":      {14135},
	"sys.sp_droparticle":               {20027},
	"sys.sp_droppublication":           {20026},
	"sys.sp_dropdistpublisher":         {14080},
	"sys.sp_dropdistributiondb":        {14117, 21043},
	"sys.sp_dropdistributor":           {21043},
	"msdb.dbo.sp_delete_job":           {14262},
}

// Repeated are the error numbers that say that there is something of the kind already; nil when there are none. What is
// there may be somebody else's, or not as it should be: the next observation judges that, and a plan must not ask for
// the same once more because of what these errors hide (21831, 14101 and 21837 come also for an agent whose job was
// deleted).
func (s Statement) Repeated() []int32 {
	return repeated[s.Procedure]
}
