/**
 * `logfleet simulate` as a child process of the demo. It ends when the channel to the demo closes, and ignores Ctrl-C.
 */
import { exitStatus } from '../src/cli/command/context.ts';
import { flushed, processContext } from '../src/cli/process-context.ts';
import { runProgram } from '../src/cli/program.ts';

const parentGone = new AbortController();
process.on('disconnect', () => parentGone.abort('SIGTERM'));
// Also checks the connection, because the `disconnect` event is lost if the demo ended before the listener was added.
if (!process.connected) process.exit(exitStatus.interrupted);

// The environment is empty, so that the user's `LOGFLEET_…` variables do not change the simulator.
const context = { ...processContext(), env: {}, signal: parentGone.signal };
const status = await runProgram(['simulate', ...process.argv.slice(2)], context);
await flushed();
process.exit(status);
