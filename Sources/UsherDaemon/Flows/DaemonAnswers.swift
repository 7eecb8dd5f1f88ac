import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Answers the questions that flows ask the daemon, for example whether the user is present.
struct DaemonAnswers: Sendable {
  let accounts: AccountRepository
  let localAuth: LocalAuthAnswers
  let totp: TOTPService
  let dependencies: Dependencies

  /// Starts to answer a question and returns at once; `report` receives the answer later.
  func answer(
    _ question: DaemonQuestion, _ flow: LiveFlow, report: @escaping @Sendable (EngineEvent) -> Void
  ) {
    switch question {
    case .localAuth(let question):
      localAuth.answer(question, flow) { report(.daemon(.answered(.localAuth($0)))) }
    case .consents(let account): report(.daemon(.answered(.consents(consents(flow, account)))))
    case .presence(let account):
      report(.daemon(.answered(.presence(exists(account, of: flow.owner)))))
    case .oneTimeCode(let account):
      Task(executorPreference: dependencies.executor) {
        report(.daemon(.answered(.oneTimeCode(await totp.answer(account, flow)))))
      }
    }
  }

  /// Whether an owner has an account; nil if the store cannot be read.
  private func exists(_ account: AccountID, of owner: Owner) -> Bool? {
    do throws(UsherError) {
      return try accounts.find(account, of: [owner]) != nil
    } catch {
      return nil
    }
  }

  /// Returns the grants for which the flow's client has consents at an account; empty if the
  /// account is not the owner's or is at another provider.
  private func consents(_ flow: LiveFlow, _ account: AccountID) -> Set<String> {
    guard let record = try? accounts.account(account, of: flow.owner),
      record.provider == flow.provider
    else { return [] }
    return record.consents.grants(
      of: flow.client ?? CallerPolicy.ownPrograms, at: dependencies.clock.now())
  }
}
