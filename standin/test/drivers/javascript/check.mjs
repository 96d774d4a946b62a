// SPDX-License-Identifier: Apache-2.0
// tedious: one JSON line for each check, as python/checks.py does. The pool is that of the package mssql.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(process.env.DRV_MODULES + '/');
const { Connection, Request, TYPES } = require('tedious');
const mssql = require('mssql');

const env = process.env;
const cases = JSON.parse(readFileSync(env.DRV_TYPES, 'utf8'));
const expected = (c) => ('text' in c ? c.text : c.repeat.repeat(c.times));

class Absent extends Error {}

function same(got, want) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  if (a !== b) throw new Error(`got ${a?.slice(0, 300)}, not ${b?.slice(0, 300)}`);
}

function connect(options = {}) {
  const { encrypt = 'required', ...others } = options;
  const connection = new Connection({
    server: env.DRV_HOST,
    authentication: { type: 'default', options: { userName: env.DRV_USER, password: env.DRV_PASSWORD } },
    options: {
      port: Number(env.DRV_PORT), database: env.DRV_DATABASE, connectTimeout: 60000, cancelTimeout: 60000, requestTimeout: 120000, useUTC: true,
      encrypt: { optional: false, required: true, strict: 'strict' }[encrypt], cryptoCredentialsDetails: { ca: readFileSync(env.DRV_CA) },
      ...others,
    },
  });
  return new Promise((resolve, reject) => connection.connect((err) => (err ? reject(err) : resolve(connection))));
}

// run executes a request; add(request) may give it parameters. Result sets are arrays of arrays of values.
function run(connection, sql, { add = () => {}, how = 'execSql', values } = {}) {
  return new Promise((resolve, reject) => {
    const out = { sets: [], outputs: {}, messages: [] };
    const request = new Request(sql, (err) => {
      connection.off('infoMessage', info);
      return err ? reject(Object.assign(err, { partial: out })) : resolve(out);
    });
    const info = (m) => out.messages.push(m.message);
    connection.on('infoMessage', info);
    request.on('columnMetadata', () => out.sets.push([]));
    request.on('row', (columns) => out.sets.at(-1).push(columns.map((c) => c.value)));
    request.on('returnValue', (name, value) => { out.outputs[name] = value; });
    request.on('doneProc', (rowCount, more, status) => { out.status = status; });
    add(request);
    out.request = request;
    connection[how](request, values);
  });
}

const rows = async (connection, sql, more) => (await run(connection, sql, more)).sets[0];
const close = (connection) => new Promise((resolve) => { if (connection.closed) resolve(); else { connection.once('end', resolve); connection.close(); } });

async function using(options, work) {
  const connection = await connect(options);
  try { return await work(connection); } finally { await close(connection); }
}

// canonical writes a value as types.json does. JavaScript's dates have milliseconds; tedious adds the rest.
function canonical(c, v) {
  const digits = (d) => String(Math.round(((d.getUTCMilliseconds() / 1000) + (d.nanosecondsDelta ?? 0)) * 1e7)).padStart(7, '0');
  const iso = (d) => (d.getUTCFullYear() + 1e4).toString().slice(1) + d.toISOString().slice(-20, -5).replace('T', ' ');
  switch (c.kind) {
    case 'int': return typeof v === 'boolean' ? String(Number(v)) : String(v);
    case 'date': return iso(v).slice(0, 10);
    case 'time': return v.toISOString().slice(11, 19) + '.' + digits(v);
    case 'datetime': return iso(v) + '.' + digits(v);
    case 'binary': return v.toString('hex');
    case 'guid': return v.toUpperCase();
    default: return v;
  }
}

function equal(c, v) {
  if (c.kind === 'float' || c.kind === 'decimal') return v === Number(expected(c));
  if (c.kind === 'real') return Math.abs(v - Number(expected(c))) <= Math.abs(v) * 1e-6;
  if (c.kind === 'datetimeoffset') {
    // The driver converts to UTC and drops the offset.
    const [day, time, zone] = expected(c).split(' ');
    return v.getTime() === new Date(`${day}T${time.slice(0, 12)}${zone}`).getTime();
  }
  return canonical(c, v) === expected(c);
}

const parameterTypes = {
  bit: 'Bit', tinyint: 'TinyInt', smallint: 'SmallInt', int: 'Int', bigint: 'BigInt', decimal: 'Decimal', numeric: 'Numeric', money: 'Money',
  smallmoney: 'SmallMoney', float: 'Float', real: 'Real', date: 'Date', time: 'Time', datetime: 'DateTime', smalldatetime: 'SmallDateTime',
  datetime2: 'DateTime2', datetimeoffset: 'DateTimeOffset', char: 'Char', varchar: 'VarChar', nchar: 'NChar', nvarchar: 'NVarChar', binary: 'Binary',
  varbinary: 'VarBinary', uniqueidentifier: 'UniqueIdentifier', xml: 'NVarChar', text: 'Text', ntext: 'NVarChar', image: 'Image', sql_variant: 'NVarChar',
};

function parameter(c) {
  const [, name, , a, b] = /^(\w+)(\((\w+),?(\d+)?\))?/.exec(c.type);
  const options = {};
  if (/char|binary/.test(name) && a && a !== 'max') options.length = Number(a);
  if (/char|binary/.test(name) && a === 'max') options.length = Infinity;
  if (/decimal|numeric/.test(name)) Object.assign(options, { precision: Number(a), scale: Number(b) });
  if (/^(time|datetime2|datetimeoffset)$/.test(name)) options.scale = Number(a);
  return [TYPES[parameterTypes[name]], options];
}

const skipped = {
  decimal_38_0: 'a decimal is a JavaScript number', decimal_38_38: 'a decimal is a JavaScript number', money_min: 'money is a JavaScript number',
  money_max: 'money is a JavaScript number', variant_int: 'no sql_variant parameters', datetimeoffset_7: 'the offset is dropped by the driver',
  datetimeoffset_0: 'the offset is dropped by the driver', time_7: 'a JavaScript date has milliseconds', datetime2_last: 'a JavaScript date has milliseconds', datetime2_first: 'JavaScript has other years before 100', date_first: 'JavaScript has other years before 100',
};

const checks = {
  tls_optional: () => using({ encrypt: 'optional' }, async (c) => same(await encrypted(c), 'FALSE')),
  tls_required: () => using({ encrypt: 'required' }, async (c) => same(await encrypted(c), 'TRUE')),
  tls_strict: () => using({ encrypt: 'strict' }, async (c) => same(await encrypted(c), 'TRUE')),

  types: () => using({}, async (connection) => {
    const wrong = [];
    for (const c of cases) {
      try {
        const v = (await rows(connection, `SELECT ${c.sql}`))[0][0];
        if (skipped[c.name]) { console.log(JSON.stringify({ skip: c.name, reason: skipped[c.name] })); continue; }
        if (!equal(c, v)) { wrong.push(`${c.name} reads ${String(canonical(c, v)).slice(0, 60)}`); continue; }
        if ((await rows(connection, `SELECT CAST(NULL AS ${c.type})`))[0][0] !== null) { wrong.push(`${c.name} NULL reads otherwise`); continue; }
        const [type, options] = parameter(c);
        for (const value of [v, null]) await run(connection, `INSERT INTO dbo.[back_${c.name}] (c) VALUES (@c)`, { add: (r) => r.addParameter('c', type, value, options) });
      } catch (e) { wrong.push(`${c.name}: ${e.message}`); }
    }
    if (wrong.length) throw new Error(wrong.join('; '));
  }),

  parameters_by_position: async () => { throw new Absent('parameters have names only'); },

  parameters_by_name: () => using({}, async (c) => {
    const add = (r) => { r.addParameter('b', TYPES.Int, 8); r.addParameter('t', TYPES.NVarChar, "x'y"); r.addParameter('a', TYPES.Int, 50); };
    same(await rows(c, 'SELECT @a - @b, @t', { add }), [[42, "x'y"]]);
    const call = (r) => { r.addParameter('text', TYPES.NVarChar, "x'y"); r.addParameter('number', TYPES.Int, 42); };
    same(await rows(c, 'dbo.p_name', { add: call, how: 'callProcedure' }), [[42, "x'y"]]);
    same(await rows(c, 'dbo.p_name', { add: (r) => r.addParameter('number', TYPES.Int, 1), how: 'callProcedure' }), [[1, 'by default']]);
  }),

  output_parameters: () => using({}, async (c) => {
    const out = await run(c, 'dbo.p_out', { how: 'callProcedure', add: (r) => {
      r.addParameter('in', TYPES.Int, 21); r.addOutputParameter('out', TYPES.Int); r.addOutputParameter('text', TYPES.NVarChar, '𠮷', { length: 50 });
    } });
    same([out.status, out.outputs.out, out.outputs.text, out.sets], [7, 42, 'grüße 𠮷', [[[21]]]]);
  }),

  result_sets: () => using({}, async (c) => same((await run(c, 'EXEC dbo.p_sets', { how: 'execSqlBatch' })).sets, [[[1], [2]], [['x', 'y']], []])),

  prepared: () => using({}, async (c) => {
    await run(c, 'DELETE FROM dbo.loaded');
    const request = new Request('INSERT INTO dbo.loaded (id, name) VALUES (@id, @name)', () => {});
    request.addParameter('id', TYPES.Int); request.addParameter('name', TYPES.NVarChar);
    const step = (begin) => new Promise((resolve, reject) => { request.userCallback = (e) => (e ? reject(e) : resolve()); begin(); });
    await new Promise((resolve, reject) => { request.once('prepared', resolve); request.userCallback = (e) => e && reject(e); c.prepare(request); });
    for (let i = 0; i < 100; i++) await step(() => c.execute(request, { id: i, name: i % 2 ? null : `n${i}` }));
    await step(() => c.unprepare(request));
    same(await rows(c, 'SELECT COUNT(*), COUNT(name), SUM(id) FROM dbo.loaded'), [[100, 50, 4950]]);
  }),

  bulk: () => using({}, async (c) => {
    await run(c, 'DELETE FROM dbo.loaded');
    const count = await new Promise((resolve, reject) => {
      const load = c.newBulkLoad('dbo.loaded', (err, n) => (err ? reject(err) : resolve(n)));
      load.addColumn('id', TYPES.Int, { nullable: false });
      load.addColumn('name', TYPES.NVarChar, { length: 50, nullable: true });
      c.execBulkLoad(load, Array.from({ length: 5000 }, (_, i) => [i, i % 10 === 0 ? null : `row ${i} 😀`]));
    });
    same(count, 5000);
    same(await rows(c, 'SELECT COUNT(*), COUNT(name), SUM(id) FROM dbo.loaded'), [[5000, 4500, 12497500]]);
    same(await rows(c, 'SELECT name FROM dbo.loaded WHERE id = 4999'), [['row 4999 😀']]);
  }),

  transactions: () => using({}, async (c) => {
    const call = (method, ...args) => new Promise((resolve, reject) => c[method]((err) => (err ? reject(err) : resolve()), ...args));
    const count = async () => (await rows(c, 'SELECT id FROM dbo.loaded')).flat();
    await run(c, 'DELETE FROM dbo.loaded');
    await call('beginTransaction');
    await run(c, 'INSERT INTO dbo.loaded (id) VALUES (1)');
    await call('rollbackTransaction');
    same(await count(), []);
    await call('beginTransaction');
    await run(c, 'INSERT INTO dbo.loaded (id) VALUES (2)');
    await call('saveTransaction', 'kept');
    await run(c, 'INSERT INTO dbo.loaded (id) VALUES (3)');
    await call('rollbackTransaction', 'kept');
    await call('commitTransaction');
    same(await count(), [2]);
  }),

  cancel: () => using({}, (c) => using({}, async (other) => {
    const spid = (await rows(c, 'SELECT @@SPID'))[0][0];
    const waiting = run(c, "WAITFOR DELAY '00:02:00'", { how: 'execSqlBatch' }).then(() => null, (e) => e);
    let error;
    waiting.then((e) => { error = e; });
    while (error === undefined) {
      const n = (await rows(other, `SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command = 'WAITFOR' AND session_id = ${spid}`))[0][0];
      if (n) { c.cancel(); break; }
    }
    same((await waiting)?.code, 'ECANCEL');
    same((await rows(c, 'SELECT @@SPID'))[0][0], spid);
  })),

  pool_reset: async () => {
    const pool = await new mssql.ConnectionPool({
      server: env.DRV_HOST, port: Number(env.DRV_PORT), user: env.DRV_USER, password: env.DRV_PASSWORD, database: env.DRV_DATABASE,
      pool: { max: 1 }, options: { trustServerCertificate: true },
    }).connect();
    await pool.request().batch('CREATE TABLE #left (id int); SET LOCK_TIMEOUT 1234; USE master; BEGIN TRANSACTION; INSERT INTO #left (id) VALUES (1)');
    const clean = (await pool.request().query("SELECT OBJECT_ID('tempdb..#left') AS t, @@TRANCOUNT AS n, @@LOCK_TIMEOUT AS l, DB_NAME() AS d")).recordset[0];
    await pool.close();
    // mssql asks for no reset of its own accord; the connection's own reset is what tedious offers.
    if (clean.n === 0 && clean.t === null) { same(clean, { t: null, n: 0, l: -1, d: env.DRV_DATABASE }); return; }
    await using({}, async (c) => {
      await run(c, 'CREATE TABLE #left (id int); SET LOCK_TIMEOUT 1234; USE master; BEGIN TRANSACTION; INSERT INTO #left (id) VALUES (1)', { how: 'execSqlBatch' });
      const spid = (await rows(c, 'SELECT @@SPID'))[0][0];
      await new Promise((resolve, reject) => c.reset((err) => (err ? reject(err) : resolve())));
      same(await rows(c, "SELECT @@SPID, OBJECT_ID('tempdb..#left'), @@TRANCOUNT, @@LOCK_TIMEOUT, DB_NAME()"), [[spid, null, 0, -1, env.DRV_DATABASE]]);
    });
  },

  error_mid_batch: () => using({}, async (c) => {
    const error = await run(c, 'SELECT 1 AS a; INSERT INTO dbo.keyed (id) VALUES (1); SELECT 2 AS b', { how: 'execSqlBatch' }).then(() => null, (e) => e);
    same([error?.number, error?.class, error?.lineNumber], [2627, 14, 1]);
    same(error.partial.sets, [[[1]], [[2]]]);
    same(await rows(c, 'SELECT COUNT(*) FROM dbo.keyed'), [[1]]);
  }),

  messages: () => using({}, async (c) => {
    same((await run(c, 'EXEC dbo.p_messages', { how: 'execSqlBatch' })).messages, ['printed ä', 'informed 42']);
    const error = await run(c, 'dbo.p_raises', { how: 'callProcedure' }).then(() => null, (e) => e);
    same([error?.number, error?.class, error?.state, error?.procName?.replace(/^dbo[.]/, '')], [50000, 16, 3, 'p_raises']);
  }),

  cursors: async () => { throw new Absent('no server cursors'); },

  mars: async () => { throw new Absent('one statement of a connection at a time'); },

  packet_sizes: async () => {
    // Encrypted connections have 16,383 bytes at most, whatever is asked for.
    for (const [packetSize, encrypt, most] of [[512, 'required', 512], [4096, 'required', 4096], [32767, 'required', 16383], [32767, 'optional', 32767]]) {
      await using({ packetSize, encrypt }, async (c) => {
        const long = 'é'.repeat(300000);
        const got = await rows(c, 'SELECT LEN(@t), @t', { add: (r) => r.addParameter('t', TYPES.NVarChar, long) });
        same(got[0][0], 300000);
        if (got[0][1] !== long) throw new Error('the text came back changed');
        same((await rows(c, 'SELECT net_packet_size FROM sys.dm_exec_connections WHERE session_id = @@SPID'))[0][0], most);
      });
    }
  },
};

async function encrypted(c) {
  return (await rows(c, 'SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID'))[0][0];
}

for (const [check, work] of Object.entries(checks)) {
  if (env.DRV_ONLY && env.DRV_ONLY !== check) continue;
  try {
    await work();
    console.log(JSON.stringify({ check, result: 'pass', detail: '' }));
  } catch (e) {
    if (env.DRV_TRACE) console.error(e);
    console.log(JSON.stringify({ check, result: e instanceof Absent ? 'absent' : 'fail', detail: String(e?.message ?? e).slice(0, 1500) }));
  }
}
