/** What stands around a delivered result, so that whoever reads it knows which job it is from (cron-delivery.md 4.9). Pure. */

const rule = "─".repeat(12)

/**
 * `continuable`: a reply here goes on with the job's words, so nothing is said about that. `over`: it does not run again,
 * so there is nothing to stop or to change.
 */
export const wrapped = (
  job: { readonly id: string; readonly name: string },
  text: string,
  options: { readonly continuable: boolean; readonly over: boolean }
): string =>
  [
    `⏰ ${job.name} (job ${job.id})`,
    rule,
    text,
    ...(options.over
      ? []
      : [
          rule,
          options.continuable
            ? `To stop it: \`/cron remove ${job.id}\`.`
            : `A scheduled run sent this. To stop it: \`/cron remove ${job.id}\`; to change it: \`/cron edit ${job.id}\`.`
        ])
  ].join("\n")
