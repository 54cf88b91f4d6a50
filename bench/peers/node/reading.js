// The reads of MongoDB that answer a request, as the other hand-written peers make them.
import DataLoader from 'dataloader';
import { MongoClient } from 'mongodb';

const { BENCH_MONGO_URL, BENCH_DATABASE, BENCH_BASE_URL } = process.env;
const SEPARATOR = '\u0000';
const BY_ID = { _id: 1 };

function projection(...fields) {
  return Object.fromEntries(fields.map((name) => [name, 1]));
}

const UNIT = projection('asset_id', 'floor_id', 'name', 'created_at', 'updated_at');
const LEVEL_TAG = { ...projection('name', 'key', 'created_at', 'updated_at', 'values'), _id: 0 };
const LOCATION = projection(
  'asset_id', 'unit_map_id', 'name', 'x', 'y', 'floors', 'tags', 'created_at', 'updated_at',
);

function withId(row) {
  row.id = row._id;
  return row;
}

export async function reader() {
  const client = new MongoClient(BENCH_MONGO_URL, { readConcernLevel: 'majority' });
  await client.connect();
  return new Reader(client.db(BENCH_DATABASE));
}

class Reader {
  constructor(database) {
    this.assetRows = database.collection('assets');
    this.floorRows = database.collection('floors');
    this.unitRows = database.collection('units');
    this.levelTagRows = database.collection('level_tags');
    this.locationRows = database.collection('locations');
  }

  async unit(id) {
    const found = await this.unitRows.findOne({ _id: id }, { projection: UNIT });
    return found && withId(found);
  }

  async units(page, perPage) {
    const limit = perPage + 1;
    const options = { projection: UNIT, sort: BY_ID, skip: (page - 1) * perPage, limit, batchSize: limit };
    const found = await this.unitRows.find({}, options).toArray();
    return { hasNext: found.length > perPage, rows: found.slice(0, perPage).map(withId) };
  }

  async assets(perPage) {
    const options = { projection: projection('name'), sort: BY_ID, limit: perPage };
    return (await this.assetRows.find({}, options).toArray()).map(withId);
  }

  levelTags(map) {
    return this.levelTagRows.find({ map_id: map }, { projection: LEVEL_TAG, sort: BY_ID }).toArray();
  }

  async locations(map, tags) {
    const terms = tags.toLowerCase().replaceAll('==', SEPARATOR).split(',');
    const words = {
      $all: terms.filter((term) => !term.startsWith('-')),
      $nin: terms.filter((term) => term.startsWith('-')).map((term) => term.slice(1)),
    };
    const options = { projection: LOCATION, sort: BY_ID, limit: 100, batchSize: 100 };
    return (await this.locationRows.find({ unit_map_id: map, words }, options).toArray()).map(withId);
  }

  // One set for each request.
  loaders() {
    return {
      floors: grouping(this.floorRows, 'asset_id', projection('asset_id', 'name', 'short_label')),
      units: grouping(this.unitRows, 'floor_id', UNIT),
    };
  }
}

function grouping(collection, owner, fields) {
  return new DataLoader(async (ids) => {
    const options = { projection: fields, sort: BY_ID, batchSize: 10_000 };
    const groups = new Map(ids.map((id) => [id, []]));
    const found = await collection.find({ [owner]: { $in: ids } }, options).toArray();
    for (const row of found) groups.get(row[owner]).push(withId(row));
    return ids.map((id) => groups.get(id));
  });
}

export function nextUrl(page, perPage, rows) {
  const token = Buffer.from(JSON.stringify([page + 1, perPage, rows.at(-1).id])).toString('base64url');
  return `${pageUrl(page + 1, perPage)}&after=${token}`;
}

export function pageUrl(page, perPage) {
  return `${BENCH_BASE_URL}/v1/units?per-page=${perPage}&page=${page}`;
}
