import UsherClient

/// The log of one call of the SDK. The program may show its lines, so they must not contain secrets
/// or unmasked contacts.
struct BSALog: Sendable {
  static let none = BSALog(name: "", sink: nil)

  var name: String
  var sink: BSA.OnTotalLog?

  /// Writes a line with the time to the program's ``BSA/OnTotalLog``, unless the task is cancelled.
  func callAsFunction(_ line: String) async {
    guard let sink else { return }
    await BSA.deliver(sink, "\(SystemClock().now()) BSA.\(name): \(line)")
  }

  /// Writes every state that a flow has had since a revision, with its time, and then the flow's
  /// problem or end.
  func states(_ session: FlowSession, since revision: Int, at client: UsherClient) async {
    guard sink != nil, session.flow.revision > revision else { return }
    let wait = FlowWait(flow: session.id, revision: revision, timeoutMs: 0)
    // The log is an extra: a failure to read the states does not fail the call.
    guard let reply = try? await client.call(wait) else { return }
    for transition in reply.transitions {
      await self(
        "\(session.id): revision \(transition.revision) at \(transition.at): "
          + "\(transition.state)")
    }
    if let problem = reply.flow.problem {
      await self("\(session.id): problem \(problem.reason)\(Self.code(problem.provider))")
    }
    if let failure = reply.flow.failure {
      await self(
        "\(session.id): \(reply.flow.status.rawValue): \(failure.reason.rawValue)"
          + Self.code(failure.provider))
    } else if reply.flow.status.isFinished {
      await self("\(session.id): \(reply.flow.status.rawValue)")
    }
  }

  private static func code(_ provider: ProviderErrorCode?) -> String {
    guard let provider else { return "" }
    return ", rtCode \(provider.error ?? provider.code)"
  }
}
