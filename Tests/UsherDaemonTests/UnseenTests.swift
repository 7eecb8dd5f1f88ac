import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Objects that a caller may not see are reported like objects that do not exist.
@Suite("Indistinguishability of foreign and missing objects", .timeLimit(.minutes(10)))
struct UnseenTests {
  /// The reply to a call, and whether it needed a task, which the caller could measure.
  private struct Said: Equatable {
    var isLater: Bool
    var text: String
  }

  private func say(
    _ method: String, _ params: JSONValue, as caller: Caller, to service: RPCService
  ) async throws -> Said {
    var isLater = false
    do {
      let response = try service.respond(to: method, params, as: caller)
      isLater = response.atOnce == nil
      let text = String(decoding: try await response.reply(), as: UTF8.self)
      return Said(isLater: isLater, text: text)
    } catch let error as UsherError {
      let line = ReplyEncoder.error(error, id: RequestID(1), correlation: CorrelationID("same"))
      return Said(isLater: isLater, text: String(decoding: line, as: UTF8.self))
    }
  }

  /// Expects the same reply to bert for an existing object and for an unknown id.
  private func expectSame(
    _ method: String, _ params: JSONValue, _ member: String, _ id: String, to service: RPCService
  ) async throws {
    var said: [Said] = []
    for id in [id, String(id.prefix(4)) + String(repeating: "0", count: id.count - 4)] {
      var params = params
      if method == "flow.start" {
        params["params"] = ["account": .string(id)]
      } else {
        params[member] = .string(id)
      }
      var reply = try await say(method, params, as: .program(of: .bert), to: service)
      reply.text = reply.text.replacing(id, with: "ID")
      said.append(reply)
    }
    #expect(said[0] == said[1], "\(method)")
    #expect(said[0].text.contains("not_found"), "\(method): \(said[0].text)")
  }

  @Test("another owner's account gets the same bytes, in the same way, as an unknown account")
  func accounts() async throws {
    let harness = try LockControllerHarness()
    let lockController = try await harness.begun()
    let services = try lockController.services()
    let id = try await services.repository.persist().id.rawValue
    let service = RPCService(lockController)
    let methods = [
      "account.get", "account.forget", "token.get", "token.list", "token.revoke", "totp.code",
      "consent.list", "consent.revoke",
    ]
    for method in methods { try await expectSame(method, [:], "account", id, to: service) }
    try await expectSame(
      "flow.start", ["provider": "work", "kind": "authorize"], "account", id, to: service)
    // Anna herself gets the account.
    let hers = try await say(
      "account.get", ["account": .string(id)], as: .program(of: .anna), to: service)
    #expect(hers.text.contains("usr_anna"))
    await lockController.end()
  }

  @Test("another owner's flow gets the same bytes, in the same way, as an unknown flow")
  func flows() async throws {
    let harness = try LockControllerHarness()
    let lockController = try await harness.begun()
    let flow = try await harness.startFlow(lockController)
    let service = RPCService(lockController)
    let id = flow.id.rawValue
    let calls: [(String, JSONValue)] = [
      ("flow.get", [:]), ("flow.cancel", [:]), ("flow.wait", ["revision": 0, "timeoutMs": 0]),
      ("flow.submit", ["revision": 1, "input": ["type": "cancel"]]),
    ]
    for (method, params) in calls {
      try await expectSame(method, params, "flow", id, to: service)
    }
    let hers = try await say("flow.get", ["flow": .string(id)], as: .program(), to: service)
    #expect(hers.text.contains("active"))
    await lockController.end()
  }
}
