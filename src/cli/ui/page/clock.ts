/** Clock of the browser, for ages that change every second. */
import { useEffect, useState } from 'preact/hooks';

const tickMs = 1_000;

/** Returns the wall time in ms. The component that calls this hook is rendered again every second. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), tickMs);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}
