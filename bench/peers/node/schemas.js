// Two schemas over the same reads: sofa-api shows every field under its own name, so that what it
// serves is named as the REST resources are; what Yoga serves is named as Floorgate's schema is.
import { createSchema } from 'graphql-yoga';
import { nextUrl, pageUrl } from './reading.js';

const REST = `
  type Unit {
    id: ID! asset_id: ID! floor_id: ID! name: String! created_at: String! updated_at: String!
  }
  type Paging { per_page: Int! current_page: Int! prev_url: String next_url: String }
  type UnitPage { paging: Paging! data: [Unit!]! }
  type LevelTagValue { name: String! value: ID! created_at: String! updated_at: String! }
  type LevelTag {
    name: String! key: String! created_at: String! updated_at: String! values: [LevelTagValue!]!
  }
  type LevelTagList { data: [LevelTag!]! }
  type LocationFloor { id: ID! }
  type LocationTag { key: String! value: String! created_at: String! updated_at: String! }
  type Location {
    id: ID! asset_id: ID! unit_map_id: ID! name: String! x: Float! y: Float!
    floors: [LocationFloor!]! tags: [LocationTag!]! created_at: String! updated_at: String!
  }
  type LocationList { data: [Location!]! }
  type Query {
    unit(id: ID!): Unit
    units(page: Int = 1, per_page: Int = 100): UnitPage!
    level_tags(map: ID!): LevelTagList!
    locations(map: ID!, tags: String!): LocationList!
  }
`;

export function restSchema() {
  return createSchema({
    typeDefs: REST,
    resolvers: {
      Query: {
        unit: (_, { id }, { read }) => read.unit(id),
        units: async (_, { page, per_page }, { read }) => {
          const { hasNext, rows } = await read.units(page, per_page);
          const paging = {
            per_page,
            current_page: page,
            prev_url: page > 1 ? pageUrl(page - 1, per_page) : null,
            next_url: hasNext ? nextUrl(page, per_page, rows) : null,
          };
          return { paging, data: rows };
        },
        level_tags: async (_, { map }, { read }) => ({ data: await read.levelTags(map) }),
        locations: async (_, { map, tags }, { read }) => ({ data: await read.locations(map, tags) }),
      },
    },
  });
}

const GRAPH = `
  type Unit {
    id: ID! assetId: ID! floorId: ID! name: String! createdAt: String! updatedAt: String!
  }
  type Paging { perPage: Int! currentPage: Int! hasNext: Boolean! }
  type UnitPage { paging: Paging! data: [Unit!]! }
  type Floor { id: ID! name: String! shortLabel: String! units(perPage: Int = 100): UnitPage! }
  type FloorPage { data: [Floor!]! }
  type Asset { id: ID! name: String! floors(perPage: Int = 100): FloorPage! }
  type AssetPage { data: [Asset!]! }
  type LevelTagValue { name: String! value: ID! createdAt: String! updatedAt: String! }
  type LevelTag {
    name: String! key: String! createdAt: String! updatedAt: String! values: [LevelTagValue!]!
  }
  type LevelTagPage { data: [LevelTag!]! }
  type LocationFloor { floorId: ID! }
  type LocationTag { key: String! value: String! createdAt: String! updatedAt: String! }
  type Location {
    id: ID! assetId: ID! unitMapId: ID! name: String! x: Float! y: Float!
    floors: [LocationFloor!]! tags: [LocationTag!]! createdAt: String! updatedAt: String!
  }
  type LocationPage { data: [Location!]! }
  type Map {
    id: ID! levelTags: LevelTagPage! locations(tags: String): LocationPage!
  }
  type Query {
    unit(id: ID!): Unit
    units(page: Int = 1, perPage: Int = 100): UnitPage!
    assets(perPage: Int = 100): AssetPage!
    map(id: ID!): Map
  }
`;

const stamps = { createdAt: (row) => row.created_at, updatedAt: (row) => row.updated_at };

function page(rows, perPage) {
  return {
    paging: { perPage, currentPage: 1, hasNext: rows.length > perPage },
    data: rows.slice(0, perPage),
  };
}

export function graphSchema() {
  return createSchema({
    typeDefs: GRAPH,
    resolvers: {
      Unit: { assetId: (row) => row.asset_id, floorId: (row) => row.floor_id, ...stamps },
      Floor: {
        shortLabel: (row) => row.short_label,
        units: async (row, { perPage }, { loaders }) => page(await loaders.units.load(row.id), perPage),
      },
      Asset: {
        floors: async (row, { perPage }, { loaders }) => page(await loaders.floors.load(row.id), perPage),
      },
      LevelTagValue: stamps,
      LevelTag: stamps,
      LocationFloor: { floorId: (row) => row.id },
      LocationTag: stamps,
      Location: { assetId: (row) => row.asset_id, unitMapId: (row) => row.unit_map_id, ...stamps },
      Map: {
        levelTags: async ({ id }, _, { read }) => ({ data: await read.levelTags(id) }),
        locations: async ({ id }, { tags }, { read }) => ({ data: await read.locations(id, tags) }),
      },
      Query: {
        unit: (_, { id }, { read }) => read.unit(id),
        units: async (_, { page, perPage }, { read }) => {
          const { hasNext, rows } = await read.units(page, perPage);
          return { paging: { perPage, currentPage: page, hasNext }, data: rows };
        },
        assets: async (_, { perPage }, { read }) => ({ data: await read.assets(perPage) }),
        map: (_, { id }) => ({ id }),
      },
    },
  });
}
