// A program of an integrator's: types and paths come from the OpenAPI description alone.
// `node client.js BASE_URL KEY` prints what it found as JSON.
import createClient from "openapi-fetch";
import type { components, paths } from "./build/description.js";

declare const process: { argv: string[] };

const [, , baseUrl, key] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { "API-Key": key } });

type Unit = components["schemas"]["Unit"];

async function walkUnits(): Promise<Unit[]> {
  const units: Unit[] = [];
  for (let page = 1, after: string | undefined; ; page += 1) {
    const { data } = await client.GET("/v1/units", {
      params: { query: { page, "per-page": 40, after } },
    });
    if (!data) throw new Error(`no page ${page}`);
    units.push(...data.data);
    if (data.paging.next_url === null) return units;
    after = new URL(data.paging.next_url).searchParams.get("after") ?? undefined;
  }
}

async function describeFirst(units: Unit[]) {
  const first = units[0];
  if (!first) throw new Error("no units");
  const { data: unit } = await client.GET("/v1/units/{unit}", {
    params: { path: { unit: first.id } },
  });
  const { data: asset } = await client.GET("/v1/assets/{asset}", {
    params: { path: { asset: first.asset_id } },
  });
  return { unit, market: asset?.market };
}

async function miss(): Promise<string | undefined> {
  const { error, response } = await client.GET("/v1/units/{unit}", {
    params: { path: { unit: "no/such unit" } },
  });
  return `${response.status} ${error?.message}`;
}

async function countReferences(): Promise<number | undefined> {
  const query = { asset: "alder-court", key: "keyring" };
  // @ts-expect-error The flag is required, and the types say so.
  await client.GET("/v1/units/references", { params: { query } });
  const { data } = await client.GET("/v1/units/references", {
    params: { query, header: { "Experimental-Flags": "references" } },
  });
  return data?.data.filter((reference) => reference.value.startsWith("AL-")).length;
}

async function assignAgain() {
  const params = {
    path: { "group-id": "apartment-type" },
    header: { "Experimental-Flags": "unit-attributes-resource" },
  };
  const path = "/v1/units/attribute-groups/{group-id}/assignments";
  const { data: listed } = await client.GET(path, {
    params: { ...params, query: { "per-page": 1 } },
  });
  const { data: echoed } = await client.PUT(path, {
    params,
    body: { data: listed?.data ?? [] },
  });
  return { listed: listed?.data, echoed: echoed?.data };
}

type Waypoint = components["schemas"]["Waypoint"];

async function measure(unit: Unit) {
  const sources: Waypoint[] = [{ unit_id: unit.id }];
  // @ts-expect-error A misspelt member does not compile.
  const misspelt: Waypoint = { x: 437.5, y: 350, floorid: "alder-court-floor-1" };
  void misspelt;
  const { data } = await client.POST("/v1/maps/{map}/distance-matrix", {
    params: {
      path: { map: "alder-court-floor-plates" },
      header: { "Experimental-Flags": "distances" },
    },
    body: {
      data: {
        sources,
        targets: [{ x: 437.5, y: 350, floor_id: "alder-court-floor-1" }],
        costing_options: { pedestrian: { mode: "wheelchair" } },
      },
    },
  });
  const target = data?.data.sources[0]?.targets[0];
  const feet: number | null | undefined = target?.distance;
  return { method: data?.data.distance_method, feet };
}

const units = await walkUnits();
console.log(
  JSON.stringify({
    ids: units.map((unit) => unit.id),
    first: await describeFirst(units),
    missing: await miss(),
    references: await countReferences(),
    assignments: await assignAgain(),
    measured: await measure(units[0] as Unit),
  }),
);
