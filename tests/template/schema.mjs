// Prints the schemas of the resource types named on the command line, as far as a
// test needs them: properties, whether required, and their types, nested.
import { loadAwsServiceSpecSync } from '@aws-cdk/aws-service-spec';

const db = loadAwsServiceSpecSync();

function typeOf(type, depth) {
  switch (type.type) {
    case 'ref': {
      const d = db.get('typeDefinition', type.reference.$ref);
      return depth > 12 ? { kind: 'any' } : { kind: 'object', properties: propertiesOf(d.properties, depth + 1) };
    }
    case 'array': return { kind: 'array', element: typeOf(type.element, depth + 1) };
    case 'map': return { kind: 'map', element: typeOf(type.element, depth + 1) };
    case 'union': return { kind: 'union', types: type.types.map((t) => typeOf(t, depth + 1)) };
    case 'integer': case 'number': case 'boolean': case 'string': return { kind: type.type };
    default: return { kind: 'any' };
  }
}

function propertiesOf(properties, depth) {
  const out = {};
  for (const [name, p] of Object.entries(properties)) {
    out[name] = { required: !!p.required, type: typeOf(p.type, depth) };
  }
  return out;
}

const out = {};
for (const name of process.argv.slice(2)) {
  const [r] = db.lookup('resource', 'cloudFormationType', 'equals', name);
  if (r) out[name] = propertiesOf(r.properties, 0);
}
console.log(JSON.stringify(out));
