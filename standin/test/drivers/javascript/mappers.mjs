// SPDX-License-Identifier: Apache-2.0
// The ordinary life of TypeORM, Sequelize and Knex: tables are made, rows written and read, the schema is read back, and migrations go up
// and down. One JSON line for each check. The database is empty at the begin.
import { createRequire } from 'node:module';
import path from 'node:path';
import assert from 'node:assert/strict';

const env = process.env;
const require = createRequire(path.join(env.DRV_MODULES, 'package.json'));
const server = { port: Number(env.DRV_PORT), database: env.DRV_DATABASE };
const options = { encrypt: true, trustServerCertificate: true };
const moment = new Date(Date.UTC(2020, 1, 3, 4, 5, 6, 789));

class Undone extends Error {}

async function undone(run) {
  await assert.rejects(run, Undone);
}

async function typeorm() {
  require('reflect-metadata');
  const { DataSource, EntitySchema, Like, Table, TableColumn, TableForeignKey, TableIndex } = require('typeorm');
  const User = new EntitySchema({
    name: 'User',
    columns: {
      id: { type: Number, primary: true, generated: true }, name: { type: 'nvarchar', length: 50, unique: true }, age: { type: 'int', default: 3 },
      amount: { type: 'decimal', precision: 10, scale: 3, nullable: true }, at: { type: 'datetime2', precision: 3, nullable: true }, key: { type: 'uniqueidentifier', generated: 'uuid' },
      doc: { type: 'simple-json', nullable: true }, body: { type: 'varbinary', length: 'max', nullable: true }, version: { type: 'int', version: true },
    },
    relations: { posts: { type: 'one-to-many', target: 'Post', inverseSide: 'user', cascade: true } },
    indices: [{ name: 'ix_age', columns: ['age'] }], checks: [{ name: 'ck_age', expression: '"age" >= 0' }],
  });
  const Post = new EntitySchema({
    name: 'Post', columns: { id: { type: 'bigint', primary: true, generated: true }, title: { type: 'varchar', length: 100 } },
    relations: { user: { type: 'many-to-one', target: 'User', onDelete: 'CASCADE', joinColumn: true, inverseSide: 'posts' } },
  });
  class Extra1700000000000 {
    async up(q) {
      await q.createTable(new Table({ name: 'extra', columns: [{ name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
        { name: 'word', type: 'varchar', length: '20', default: "'q'" }, { name: 'owner', type: 'int', isNullable: true }] }), true);
      await q.createIndex('extra', new TableIndex({ name: 'ix_word', columnNames: ['word'] }));
      await q.createForeignKey('extra', new TableForeignKey({ name: 'fk_owner', columnNames: ['owner'], referencedTableName: 'user', referencedColumnNames: ['id'], onDelete: 'SET NULL' }));
      await q.addColumn('extra', new TableColumn({ name: 'number', type: 'int', default: 5 }));
      await q.renameColumn('extra', 'word', 'text');
      await q.renameTable('extra', 'more');
    }

    async down(q) {
      await q.renameTable('more', 'extra');
      await q.dropColumn('extra', 'number');
      await q.dropTable('extra');
    }
  }
  const db = new DataSource({ type: 'mssql', host: env.DRV_HOST, username: env.DRV_USER, password: env.DRV_PASSWORD, ...server, options, entities: [User, Post], migrations: [Extra1700000000000] });
  await db.initialize();
  const users = db.getRepository('User'), posts = db.getRepository('Post');
  return {
    async tables() { await db.synchronize(); },
    async rows() {
      await users.save({ name: 'Anna ü', amount: '1.250', at: moment, doc: { a: [1] }, body: Buffer.from([0, 1]), posts: [{ title: 'x' }, { title: 'y' }] });
      await users.insert(Array.from({ length: 60 }, (_, i) => ({ name: 'n' + i, age: i % 5 })));
      const anna = await users.findOne({ where: { name: 'Anna ü' }, relations: { posts: true } });
      assert.deepEqual([anna.amount, anna.at, anna.doc, [...anna.body], anna.version, anna.posts.map((p) => p.title).sort()], [1.25, moment, { a: [1] }, [0, 1], 1, ['x', 'y']]);
      assert.deepEqual((await users.find({ where: { name: Like('n1%') }, order: { id: 'ASC' }, skip: 1, take: 2 })).map((u) => u.name), ['n10', 'n11']);
      anna.age = 9;
      assert.equal((await users.save(anna)).version, 2);
      await users.remove(anna);
      assert.equal(await posts.count(), 0);
    },
    async transactions() {
      await undone(() => db.transaction('SERIALIZABLE', async (m) => {
        await m.insert('User', { name: 'one' });
        await m.transaction((inner) => inner.insert('User', { name: 'two' }));
        throw new Undone();
      }));
      assert.equal(await users.count(), 60);
      await assert.rejects(users.insert({ name: 'n1' }), { number: 2627 });
    },
    async reflection() {
      assert.deepEqual((await db.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query), []);
      const q = db.createQueryRunner();
      const table = await q.getTable('post');
      await q.release();
      assert.deepEqual([table.columns.map((c) => c.name), table.foreignKeys[0].onDelete], [['id', 'title', 'userId'], 'CASCADE']);
    },
    async migration() {
      assert.equal((await db.runMigrations()).length, 1);
      await db.undoLastMigration();
      await db.dropDatabase();
    },
    end: () => db.destroy(),
  };
}

async function sequelize() {
  const { Sequelize, DataTypes, Op } = require('sequelize');
  const db = new Sequelize(env.DRV_DATABASE, env.DRV_USER, env.DRV_PASSWORD, { host: env.DRV_HOST, port: server.port, dialect: 'mssql', logging: false, dialectOptions: { options } });
  const User = db.define('User', {
    name: { type: DataTypes.STRING(50), allowNull: false, unique: true, comment: 'the name' }, age: { type: DataTypes.INTEGER, defaultValue: 3 }, amount: DataTypes.DECIMAL(10, 3),
    key: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4 }, body: DataTypes.BLOB, day: DataTypes.DATEONLY, kind: DataTypes.ENUM('a', 'b'),
  }, { indexes: [{ name: 'ix_age', fields: ['age', { name: 'name', order: 'DESC' }] }], paranoid: true });
  const Post = db.define('Post', { title: DataTypes.STRING });
  User.hasMany(Post, { onDelete: 'CASCADE' });
  Post.belongsTo(User);
  const schema = db.getQueryInterface();
  return {
    async tables() { await db.sync({ force: true }); await db.sync(); },
    async rows() {
      await User.create({ name: 'Anna ü', amount: '1.250', body: Buffer.from([0, 1]), day: '2020-02-03', kind: 'a', Posts: [{ title: 'x' }, { title: 'y' }] }, { include: [Post] });
      await User.bulkCreate(Array.from({ length: 60 }, (_, i) => ({ name: 'n' + i, age: i % 5 })));
      const anna = await User.findOne({ where: { name: 'Anna ü' }, include: [Post] });
      assert.deepEqual([anna.amount, anna.day, anna.kind, [...anna.body], anna.Posts.length], [1.25, '2020-02-03', 'a', [0, 1], 2]);
      assert.deepEqual((await User.findAll({ where: { name: { [Op.like]: 'n1%' } }, order: ['id'], offset: 1, limit: 2 })).map((u) => u.name), ['n10', 'n11']);
      assert.equal((await User.update({ age: 8 }, { where: { age: 3 }, returning: true }))[0], 13);
      await User.upsert({ name: 'n5', age: 99 });
      assert.equal((await User.findOne({ where: { name: 'n5' } })).age, 99);
      assert.equal(await User.destroy({ where: { name: 'n7' } }), 1);
      assert.equal(await User.count(), 60);
    },
    async transactions() {
      await undone(() => db.transaction(async (transaction) => {
        await User.create({ name: 'one' }, { transaction });
        await User.findAll({ lock: transaction.LOCK.UPDATE, transaction, limit: 1 });
        throw new Undone();
      }));
      assert.equal(await User.count(), 60);
      await assert.rejects(User.create({ name: 'n1' }), { name: 'SequelizeUniqueConstraintError' });
    },
    async reflection() {
      const columns = await schema.describeTable('Users');
      assert.deepEqual([columns.id.primaryKey, columns.id.autoIncrement, columns.name.type, columns.name.comment], [true, true, 'NVARCHAR(50)', 'the name']);
      assert.deepEqual((await schema.showIndex('Users')).find((i) => i.name === 'ix_age').fields.map((f) => f.attribute + ' ' + f.order), ['age ASC', 'name DESC']);
      assert.equal((await schema.getForeignKeyReferencesForTable('Posts'))[0].referencedTableName, 'Users');
    },
    async migration() {
      await schema.addColumn('Users', 'nick', { type: DataTypes.STRING, defaultValue: 'x', allowNull: false });
      await schema.renameColumn('Users', 'nick', 'alias');
      await schema.removeColumn('Users', 'alias');
      await schema.addConstraint('Users', { fields: ['age'], type: 'check', name: 'ck_age', where: { age: { [Op.gte]: 0 } } });
      await schema.removeConstraint('Users', 'ck_age');
      await schema.removeIndex('Users', 'ix_age');
      await schema.renameTable('Posts', 'Articles');
      await schema.renameTable('Articles', 'Posts');
      await db.drop();
    },
    end: () => db.close(),
  };
}

async function knex() {
  const steps = {
    first: { up: (k) => k.schema.createTable('extra', (t) => { t.increments(); t.string('word'); }), down: (k) => k.schema.dropTable('extra') },
    second: { up: (k) => k.schema.alterTable('extra', (t) => { t.integer('number').notNullable().defaultTo(3); t.renameColumn('word', 'text'); }),
      down: (k) => k.schema.alterTable('extra', (t) => { t.dropColumn('number'); }) },
  };
  const db = require('knex')({ client: 'mssql', connection: { server: env.DRV_HOST, user: env.DRV_USER, password: env.DRV_PASSWORD, ...server, options }, pool: { min: 0, max: 3 },
    migrations: { migrationSource: { getMigrations: async () => Object.keys(steps), getMigrationName: (m) => m, getMigration: async (m) => steps[m] } } });
  return {
    async tables() {
      await db.schema.createTable('users', (t) => {
        t.increments('id'); t.string('name', 50).notNullable().index(); t.string('mail').unique(); t.decimal('amount', 12, 3).defaultTo(1.5); t.boolean('done').defaultTo(false);
        t.timestamps(true, true); t.uuid('key').defaultTo(db.raw('newid()')); t.text('text'); t.binary('body');
      });
      await db.schema.createTable('posts', (t) => { t.bigIncrements('id'); t.integer('owner').notNullable().references('id').inTable('users').onDelete('CASCADE'); t.string('title').comment('of the post'); });
    },
    async rows() {
      assert.deepEqual(await db('users').insert([{ name: 'a', mail: 'a@x' }, { name: 'b', mail: 'b@x' }], ['id', 'name']), [{ id: 1, name: 'a' }, { id: 2, name: 'b' }]);
      await db('users').insert([{ name: 'c', mail: null }, { name: 'd', mail: null }]);
      await db('posts').insert([{ owner: 1, title: 'x' }, { owner: 2, title: 'y' }]);
      assert.deepEqual(await db('users').join('posts', 'users.id', 'posts.owner').select('name', 'title').orderBy('users.id').limit(1).offset(1), [{ name: 'b', title: 'y' }]);
      assert.deepEqual(await db('users').where('id', '<', 3).update({ amount: 3 }, ['id', 'amount']), [{ id: 1, amount: 3 }, { id: 2, amount: 3 }]);
      await db.batchInsert('users', Array.from({ length: 500 }, (_, i) => ({ name: 'n' + i, mail: 'm' + i })), 100);
      let streamed = 0;
      for await (const row of db('users').select('id').stream()) streamed += row.id > 0 ? 1 : 0;
      assert.equal(streamed, 504);
    },
    async transactions() {
      await undone(() => db.transaction(async (t) => {
        await t('users').insert({ name: 'one', mail: 'one' });
        await t.transaction((inner) => inner('users').insert({ name: 'two', mail: 'two' }));
        throw new Undone();
      }));
      assert.deepEqual(await db('users').count('* as n'), [{ n: 504 }]);
      await assert.rejects(db('users').insert({ name: 'a', mail: 'a@x' }), { number: 2601 });
    },
    async reflection() {
      assert.deepEqual([await db.schema.hasTable('users'), await db.schema.hasTable('nothing'), await db.schema.hasColumn('users', 'mail')], [true, false, true]);
      const columns = await db('users').columnInfo();
      assert.deepEqual([columns.name.type, columns.name.maxLength, columns.name.nullable, columns.mail.nullable], ['nvarchar', 50, false, true]);
    },
    async migration() {
      assert.equal((await db.migrate.latest())[1].length, 2);
      assert.equal(await db.schema.hasColumn('extra', 'text'), true);
      assert.equal((await db.migrate.rollback())[1].length, 2);
      await db.schema.alterTable('users', (t) => { t.dropColumn('amount'); t.string('name', 80).notNullable().alter(); });
      await db.schema.renameTable('posts', 'articles');
      await db.schema.dropTable('articles').dropTable('users');
    },
    end: () => db.destroy(),
  };
}

const tool = await { typeorm, sequelize, knex }[process.argv[2]]();
for (const check of ['tables', 'rows', 'transactions', 'reflection', 'migration']) {
  try {
    await tool[check]();
    console.log(JSON.stringify({ check, result: 'pass' }));
  } catch (e) {
    console.log(JSON.stringify({ check, result: 'fail', detail: String(e.message).slice(0, 1500) }));
  }
}
await tool.end();
