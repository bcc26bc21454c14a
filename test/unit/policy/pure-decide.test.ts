/**
 * Every test of `decide` checks that it is pure. The tests in this file show that the check detects each kind of
 * impurity.
 */
import { expect, test } from 'vitest';
import { type Decision, decide } from '../../../src/policy/decide.ts';
import type { Ledger } from '../../../src/policy/ledger/ledger.ts';
import type { DecideInput } from '../../../src/policy/rollout/decide-input.ts';
import { checkedDecide } from '../../support/pure-decide.ts';
import { openEntry } from './builders.ts';
import { fleetOf, inputOf, PolicyBench } from './policy-bench.ts';

const input = () => inputOf(new PolicyBench({ collectors: fleetOf(3), entries: [openEntry()] }));

test('a pure decision gives the same result as without the check', () => {
  expect(checkedDecide(input())).toEqual(decide(input()));
});

const withPart = (part: unknown) => (given: DecideInput) => ({ ...decide(given), part }) as Decision;
let responses = 0;

class MutableCount {
  count = 1;
}

test.each<[string, (given: DecideInput) => Decision, RegExp]>([
  [
    'writes to the ledger',
    (given) => {
      (given.ledger as Ledger).setHeader(given.ledger.header);
      return decide(given);
    },
    /setHeader, which is not a member of the view/,
  ],
  [
    'changes a ledger entry',
    (given) => {
      Object.assign(given.ledger.entry('1') ?? {}, { used: 7 });
      return decide(given);
    },
    /read only/,
  ],
  [
    'changes the row of a collector',
    (given) => {
      Object.assign(given.observation.listing.row('1') ?? {}, { position: 7 });
      return decide(given);
    },
    /read only/,
  ],
  [
    'changes a response to a request',
    (given) => {
      (given.observation.posted as Map<string, unknown>).clear();
      return decide(given);
    },
    /changed a collection/,
  ],
  [
    'gives a different result each time',
    (given) => ({ ...decide(given), requeueAfterMs: ++responses }),
    /two different results/,
  ],
  ['gives back a function', withPart(() => 1), /could not be cloned/],
  ['gives back an object of a class', withPart(new MutableCount()), /not plain data/],
  [
    'gives back the row of a collector',
    (given) => withPart(given.memberIndex.row('1'))(given),
    /an object that changes later/,
  ],
  [
    'gives back the present counts',
    (given) => withPart([given.memberIndex.counts])(given),
    /an object that changes later/,
  ],
])('detects a decision that %s', (_, impure, message) => {
  expect(() => checkedDecide(input(), impure)).toThrow(message);
});
