import JSONRPC

/// Compares the audit with the answers that clients received.
struct AuditCheck {
  /// Methods of which each successful call is recorded.
  private static let methods = [
    "token.get", "token.revoke", "account.get", "account.forget", "flow.start",
  ]

  let simulator: Simulator
  let checks: AnswerChecks
  let operatorClient: SimulatedClient

  /// Fails if the audit has fewer calls than were answered, or more than were sent.
  ///
  /// The daemon may lose rows if it is killed (Audit.md), so this is for runs without kills.
  func run() {
    // An answer may arrive before its row is written, and repeated calls share a row of a minute.
    simulator.run(until: simulator.now + 120_000_000_000)
    let answered = checks.counts
    guard let recorded = recorded() else { return }
    for method in Self.methods {
      let (answers, rows) = (answered["\(method) ok"] ?? 0, recorded[method] ?? 0)
      if rows < answers {
        simulator.fail("the audit has \(rows) calls of \(method), but \(answers) were answered")
      }
      if let sent = checks.sent[method], rows > sent {
        simulator.fail("the audit has \(rows) calls of \(method), but \(sent) were sent")
      }
    }
  }

  /// Returns the number of successful calls by method, according to the audit.
  private func recorded() -> [String: Int]? {
    var (counts, after) = ([String: Int](), 0)
    while true {
      let answer = operatorClient.ask(
        "audit.list", ["after": .integer(Int64(after)), "limit": 1000], limit: .seconds(60))
      guard let result = answer?["result"], let rows = result["rows"]?.arrayValue else {
        simulator.fail("audit.list does not succeed: \(answer.map { "\($0)" } ?? "no answer")")
        return nil
      }
      for row in rows where row["outcome"] == "ok" {
        let count = Int(row["count"]?.integerValue ?? 1)
        counts[row["method"]?.stringValue ?? "", default: 0] += count
      }
      guard let next = result["next"]?.integerValue else { return counts }
      after = Int(next)
    }
  }
}
