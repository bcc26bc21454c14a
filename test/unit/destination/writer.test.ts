/**
 * Tests the tokens that identify a writing process (E15). A token tells whether its process still runs, but only to
 * processes in the same scope, such as a container.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ownIdentity } from '../../../src/base/process-identity.ts';
import { seededRandom, systemRandom } from '../../../src/base/random.ts';
import { nameProblem } from '../../../src/destination/object-name.ts';
import { Writer } from '../../../src/destination/writer.ts';

describe('a token', () => {
  test('may stand in any name, and is never the same twice', async () => {
    const writer = await Writer.ours(systemRandom);
    const tokens = Array.from({ length: 1_000 }, () => writer.newToken());
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(nameProblem(`data/${tokens[0]}.gz`)).toBeUndefined();
  });

  test('of this process is of the living', async () => {
    const writer = await Writer.ours(systemRandom);
    expect(await writer.stateOf(`000001-001-${writer.newToken()}.ndjson.gz`)).toBe('living');
  });

  test('of a process that ended, or whose pid is another process by now, is of the dead', async () => {
    const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(child, 'exit');
    const ours = await ownIdentity();
    const writer = new Writer(ours, systemRandom);
    const dead = new Writer({ ...ours, pid: child.pid ?? 0 }, systemRandom);
    const earlier = new Writer({ ...ours, processStart: '1' }, systemRandom);
    expect(await writer.stateOf(dead.newToken())).toBe('ended');
    expect(await writer.stateOf(earlier.newToken())).toBe('ended');
  });

  test('from elsewhere tells nothing, nor does a name without one', async () => {
    const ours = await ownIdentity();
    const writer = new Writer(ours, seededRandom(1));
    const other = new Writer({ ...ours, scope: 'another machine' }, seededRandom(1));
    const states = await Promise.all(
      [other.newToken(), 'data/x.gz', `x${writer.newToken()}`].map((name) => writer.stateOf(name)),
    );
    expect(states).toEqual(['unknown', 'unknown', 'unknown']);
  });
});
