/** Questions of which only the newest matters. */

/**
 * Runs one at a time; of those that came meanwhile, the last one is run next and the rest never.
 * A failure is thrown to who asked first, unless it was followed by a newer question, whose end counts.
 */
export class Newest<A> {
  private readonly run: (asked: A) => Promise<void>;
  private busy = false;
  private next: { asked: A } | null = null;

  constructor(run: (asked: A) => Promise<void>) {
    this.run = run;
  }

  get isBusy(): boolean {
    return this.busy;
  }

  async ask(asked: A): Promise<void> {
    this.next = { asked };
    if (this.busy) return;
    this.busy = true;
    let failure: { error: unknown } | null = null;
    while (this.next !== null) {
      const { asked: newest }: { asked: A } = this.next;
      this.next = null;
      failure = await this.run(newest).then(
        () => null,
        (error: unknown) => ({ error }),
      );
    }
    this.busy = false;
    if (failure !== null) throw failure.error;
  }
}
