/** Tests a directory with more manifest files than a process may open at the same time. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { policy, Workplace } from '../../../support/workplace.ts';

test('a directory with more files than a process may open is read completely', () => {
  const place = new Workplace();
  for (let count = 1; count <= 400; count++) place.write(`policy-${count}.yaml`, policy(`policy-${count}`));
  const program = fileURLToPath(new URL('../../../../bin/logfleet.js', import.meta.url));
  const command = `ulimit -n 200; "${process.execPath}" "${program}" get cvp -n logging --dir "${place.directory}" -o json`;
  const { stdout, stderr, status } = spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  expect(JSON.parse(stdout).items).toHaveLength(400);
});
