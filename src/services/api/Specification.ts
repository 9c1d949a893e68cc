type Json = Record<string, unknown>

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const at = (value: unknown, key: string): Json => {
  const found = isRecord(value) ? value[key] : undefined
  return isRecord(found) ? found : {}
}

const mapValues = (record: Json, change: (value: unknown, key: string) => unknown): Json =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))

const errorReference = { $ref: "#/components/schemas/Error" }

/** Every error is one shape here; the framework's own, which never leaves this server, is taken out. */
const oneError = (response: unknown, status: string): unknown =>
  isRecord(response) && Number(status) >= 400
    ? { ...response, content: { "application/json": { schema: errorReference } } }
    : response

const frameworkOnly = new Set(["HttpApiDecodeError", "Issue", "PropertyKey"])

/** The generated specification as it is served: one error shape, and how a request shows who it is from. */
export const finish = (specification: Json): Json => {
  const components = at(specification, "components")
  const schemas = Object.entries(at(components, "schemas")).filter(([name]) => !frameworkOnly.has(name))
  return {
    ...specification,
    paths: mapValues(at(specification, "paths"), (operations, path) =>
      isRecord(operations)
        ? mapValues(operations, (operation) =>
            isRecord(operation)
              ? {
                  ...operation,
                  responses: mapValues(at(operation, "responses"), oneError),
                  security: path === "/health" ? [] : [{ key: [] }, { page: [] }]
                }
              : operation
          )
        : operations
    ),
    components: {
      ...components,
      schemas: Object.fromEntries(schemas),
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "The home's API key." },
        page: { type: "apiKey", in: "cookie", name: "hermes_PORT", description: "The page's cookie." }
      }
    }
  }
}
