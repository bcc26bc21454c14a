/** Tests a process's token, from which other processes can tell whether the process is still running (E15). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ownIdentity } from '../../../src/base/process-identity.ts';
import { seededRandom, systemRandom } from '../../../src/base/random.ts';
import { nameProblem } from '../../../src/destination/store/object-name.ts';
import { Writer } from '../../../src/destination/store/writer.ts';

describe('the token of a process', () => {
  test('is unique and valid in object names', async () => {
    const writer = await Writer.ours(systemRandom);
    const tokens = Array.from({ length: 1_000 }, () => writer.newToken());
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(nameProblem(`data/${tokens[0]}.gz`)).toBeUndefined();
  });

  test('shows that this process is running', async () => {
    const writer = await Writer.ours(systemRandom);
    expect(await writer.stateOf(`000001-001-${writer.newToken()}.ndjson.gz`)).toBe('living');
  });

  test('shows that a process has ended, even if its pid was reused', async () => {
    const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(child, 'exit');
    const ours = await ownIdentity();
    const writer = new Writer(ours, systemRandom);
    const dead = new Writer({ ...ours, pid: child.pid ?? 0 }, systemRandom);
    const earlier = new Writer({ ...ours, processStart: '1' }, systemRandom);
    expect(await writer.stateOf(dead.newToken())).toBe('ended');
    expect(await writer.stateOf(earlier.newToken())).toBe('ended');
  });

  test('does not show whether a process on another machine is running; nor does a name without a token', async () => {
    const ours = await ownIdentity();
    const writer = new Writer(ours, seededRandom(1));
    const other = new Writer({ ...ours, scope: 'another machine' }, seededRandom(1));
    const states = await Promise.all(
      [other.newToken(), 'data/x.gz', `x${writer.newToken()}`].map((name) => writer.stateOf(name)),
    );
    expect(states).toEqual(['unknown', 'unknown', 'unknown']);
  });
});
