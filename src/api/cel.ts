/**
 * Evaluates the CEL rules of a schema (`x-kubernetes-validations`) as an API server does. Defaults must already be set
 * in the resource. A rule that contains `oldSelf` is evaluated only for updates. The cost limits of rules are not
 * enforced.
 *
 * This module loads the CEL engine, so import it lazily.
 */

import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import { getOrAdd } from '../base/get-or-add.ts';
import { parseQuantity } from '../base/quantity.ts';
import { isRecord } from '../base/record.ts';
import type { StructuralSchema, ValidationRule } from '../base/structural-schema.ts';
import { isoText } from '../base/time-text.ts';
import type { Explanation } from './finding.ts';
import { type JsonPath, valueAt } from './json-path.ts';

export interface RuleViolation extends Explanation {
  readonly path: JsonPath;
}

/**
 * Returns all violations of CEL rules in `value`. `previous` is the value before an update. Values at paths for which
 * `skip` returns true are not checked.
 */
export function evaluateRules(
  schema: StructuralSchema,
  value: unknown,
  previous?: unknown,
  skip: (path: JsonPath) => boolean = () => false,
): readonly RuleViolation[] {
  const violations: RuleViolation[] = [];
  visit({ schema, value, previous, path: [] }, (place) => {
    if (skip(place.path)) return;
    for (const rule of place.schema['x-kubernetes-validations'] ?? []) {
      if (!holds(rule, place)) violations.push(violationOf(rule, place.path, value));
    }
  });
  return violations;
}

interface ValuePlace {
  readonly schema: StructuralSchema;
  readonly value: unknown;
  readonly previous: unknown;
  readonly path: JsonPath;
}

function visit(place: ValuePlace, examine: (place: ValuePlace) => void): void {
  const { schema, value, previous, path } = place;
  if (value === undefined || value === null) return;
  examine(place);
  if (Array.isArray(value)) {
    // The items of a list are checked without their previous values, because nothing shows which old item of an
    // `atomic` list corresponds to which new item.
    const { items } = schema;
    if (items) {
      for (const [index, item] of value.entries()) {
        visit({ schema: items, value: item, previous: undefined, path: [...path, index] }, examine);
      }
    }
  } else if (isRecord(value)) {
    for (const [name, member] of Object.entries(value)) {
      const memberSchema = schema.properties?.[name] ?? schema.additionalProperties;
      if (!memberSchema) continue;
      const older = isRecord(previous) ? previous[name] : undefined;
      visit({ schema: memberSchema, value: member, previous: older, path: [...path, name] }, examine);
    }
  }
}

/** A quantity of bytes, such as `1Gi`. CEL rules use this class in place of the API server's type `Quantity`. */
class Quantity {
  readonly bytes: number;

  constructor(text: string) {
    const bytes = parseQuantity(text);
    if (bytes === undefined) throw new Error(`${text} is not a quantity`);
    this.bytes = bytes;
  }

  compareTo({ bytes }: Quantity): bigint {
    return BigInt(Math.sign(this.bytes - bytes));
  }
}

const environment = new Environment()
  .registerVariable('self', 'dyn')
  .registerVariable('oldSelf', 'dyn')
  .registerType('Quantity', Quantity)
  .registerFunction('quantity(string): Quantity', (text: string) => new Quantity(text))
  .registerFunction('string.findAll(string): list', (text: string, pattern: string) =>
    [...text.matchAll(new RegExp(pattern, 'g'))].map(([found]) => found),
  )
  .registerFunction('Quantity.compareTo(Quantity): int', (left: Quantity, right: Quantity) => left.compareTo(right));
const programs = new Map<string, ParseResult>();
const namesOldSelf = /\boldSelf\b/;

function holds({ rule }: ValidationRule, { schema, value, previous }: ValuePlace): boolean {
  if (namesOldSelf.test(rule) && previous === undefined) return true;
  const program = getOrAdd(programs, rule, () => environment.parse(rule));
  const self = toCel(schema, value);
  const oldSelf = toCel(schema, previous);
  try {
    return program({ self, oldSelf }) === true;
  } catch (error) {
    // If the evaluation of a rule fails, the rule counts as violated, as it does in an API server.
    if (error instanceof Error) return false;
    throw error;
  }
}

/**
 * Converts JSON data to CEL values. A number becomes a BigInt if the schema declares it as an integer. Timestamps are
 * converted to a short form, because the CEL engine accepts fewer forms than API servers do.
 */
function toCel(schema: StructuralSchema | undefined, value: unknown): unknown {
  if (typeof value === 'string' && schema?.format === 'date-time') return shortTime(value);
  if (typeof value === 'number') {
    const isInteger = schema?.type === 'integer' || schema?.['x-kubernetes-int-or-string'];
    return isInteger && Number.isInteger(value) ? BigInt(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => toCel(schema?.items, item));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      toCel(schema?.properties?.[name] ?? schema?.additionalProperties, member),
    ]),
  );
}

function shortTime(text: string): string {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : isoText(ms);
}

function violationOf(
  { fieldPath = '', problem, remedy }: ValidationRule,
  outer: JsonPath,
  root: unknown,
): RuleViolation {
  const path = [...outer, ...fieldPath.split('.').filter((step) => step !== '')];
  const value = valueAt(root, path);
  const isShort = typeof value === 'string' || typeof value === 'number';
  return { path, problem: problem ?? (isShort ? `${JSON.stringify(value)} is not allowed` : 'is invalid'), remedy };
}
