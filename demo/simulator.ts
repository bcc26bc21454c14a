/**
 * `logfleet simulate` as a child of the demo, which starts this file with a channel between the two. It ends when the channel
 * closes, so that it outlives the demo in no case, not even when that is killed. Signals of the terminal are left to the demo:
 * the service has to be there until the operator has tidied up.
 */
import { exitStatus } from '../src/cli/context.ts';
import { flushed, processContext } from '../src/cli/process-context.ts';
import { runProgram } from '../src/cli/program.ts';

const parentGone = new AbortController();
process.on('disconnect', () => parentGone.abort('SIGTERM'));
// Whoever closes the channel before it is listened to has gone, too.
if (!process.connected) process.exit(exitStatus.interrupted);

// Variables named LOGFLEET_… are meant for the person's own runs and not for the demo's simulator.
const context = { ...processContext(), env: {}, signal: parentGone.signal };
const status = await runProgram(['simulate', ...process.argv.slice(2)], context);
await flushed();
process.exit(status);
