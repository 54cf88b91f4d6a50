import graphql from "@graphql-eslint/eslint-plugin";

const SCHEMA = "../../../../schema/schema.graphql";

// Values, parts of a record and results that are computed: no object is the same wherever it
// occurs, so an id would let caches show the data of one in the place of another.
const VALUES = [
  "AuditActor", "AuditChange", "AuditRecord", "AuditTarget", "Change", "ChangeBatch", "ChangePlan",
  "Closable", "Closures", "DistanceMatrix", "Drawing", "DrawingLevel", "DrawingTag", "FieldChange",
  "ImportedKind", "LevelTagValue", "LocationFloor", "LocationTag", "MapRouting", "MapSummary",
  "MatrixSource", "MatrixTarget", "NearLocation", "NearUnit", "NearestFromSource", "PageInfo", "Paging",
  "ParseWarning", "Picture", "Place", "Reachable", "ReachableArea", "RecordChange", "Removal", "Route",
  "RouteLeg", "RouteStep", "Shape", "ShapeBox", "UnitMapParse", "WarningPlace",
];

// The names of the REST API, which GraphQL shares (attribute_id, attribute_name, attribute_key),
// and the name that Relay is configured with.
const SHARED_NAMES = ["attributeId", "attributeName", "attributeKey", "nodeId"];

function except(rule, fieldNames) {
  return {
    ...rule,
    create(context) {
      const report = (problem) =>
        fieldNames.includes(problem.data?.fieldName) || context.report(problem);
      return rule.create(Object.create(context, { report: { value: report } }));
    },
  };
}

const NAMING = "@graphql-eslint/naming-convention";
const RECOMMENDED = graphql.configs["flat/schema-recommended"].rules;
const [level, styles] = RECOMMENDED[NAMING];

export default [
  {
    files: ["**/*.graphql"],
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: SCHEMA } },
    },
    plugins: {
      "@graphql-eslint": graphql,
      floorgate: {
        rules: {
          "no-typename-prefix": except(graphql.rules["no-typename-prefix"], SHARED_NAMES),
        },
      },
    },
    rules: {
      ...RECOMMENDED,
      // The words of the REST API, which are in lower case, of parsed maps (types of shapes), and of
      // the directive @endpoint (methods of HTTP, and as GraphQL recommends).
      [NAMING]: [
        level,
        {
          ...styles,
          EnumValueDefinition: {
            style: "snake_case",
            ignorePattern: "^(Polygon|Polyline|Line|Path|Circle|Ellipse|Rect|[A-Z_]+)$",
          },
        },
      ],
      // Lists, and what mutations return, are of one request; see VALUES for the others.
      "@graphql-eslint/strict-id-in-types": [
        "error",
        { exceptions: { types: VALUES, suffixes: ["Page", "Edge", "Payload"] } },
      ],
      "@graphql-eslint/no-typename-prefix": "off",
      "floorgate/no-typename-prefix": "error",
    },
  },
];
