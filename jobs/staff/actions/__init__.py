"""What staff may do about calls, slots, jobs and providers: one module per action.

    check            the call is polled at once, also after its end
    give_back        attempt and job fail, the call is given up and still polled
    attach           a call without a provider id gets one, and is polled like any other
    deliver          an unreadable result, or a picture in its place, goes to its user
    grant, revoke    extra slots for one day
    resume_job       a stage that was set aside is due at once
    pause_provider, resume_provider

Each module has the permission, the guard (`why_not`), the preview, `run`, and the page. An action
is no evidence: it ends no call as failed and no run. `run` is one transaction, that about a call or
a job under the job's lock, and writes the entry in it. Where the state forbids the action, `run`
raises ActionRefused and changes nothing.
"""
