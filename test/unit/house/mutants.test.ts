/** Tests that mutants still match the sources that they change. `make soak` runs the mutants. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutants as scannerMutants } from '../../fuzz/page-scanner/mutants.ts';
import { exportMutants } from '../../simulation/exports/mutants.ts';
import { mutants } from '../../simulation/mutants.ts';
import { scheduleMutants } from '../../simulation/schedules/mutants.ts';

const src = join(import.meta.dirname, '../../../src');

test('the text that a mutant replaces occurs exactly once in its file', () => {
  const simulated = [...mutants, ...exportMutants, ...scheduleMutants].flatMap(({ mutations }) => mutations);
  const all = [...simulated, ...scannerMutants];
  const counted = all.map(({ file, find }) => ({
    file,
    find,
    count: readFileSync(join(src, file), 'utf8').split(find).length - 1,
  }));
  expect(all.length).toBeGreaterThan(50);
  expect(counted.filter(({ count }) => count !== 1)).toEqual([]);
});
