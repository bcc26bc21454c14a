/**
 * `logfleet simulate` as a child of the demo. It ends when the channel to the demo closes, so it never outlives the demo, even if the demo
 * is killed. Signals of the terminal are for the demo only: the service has to run until the operator has cleaned up.
 */
import { exitStatus } from '../src/cli/context.ts';
import { flushed, processContext } from '../src/cli/process-context.ts';
import { runProgram } from '../src/cli/program.ts';

const parentGone = new AbortController();
process.on('disconnect', () => parentGone.abort('SIGTERM'));
// The demo closed the channel before this process could listen.
if (!process.connected) process.exit(exitStatus.interrupted);

// `LOGFLEET_…` variables are for runs of the user, not for the simulator of the demo.
const context = { ...processContext(), env: {}, signal: parentGone.signal };
const status = await runProgram(['simulate', ...process.argv.slice(2)], context);
await flushed();
process.exit(status);
