import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Dynamic users of systemd", .timeLimit(.minutes(10)))
struct TransientUserTests {
  private let harness: LockControllerHarness

  init() throws { harness = try LockControllerHarness() }

  private func refusal(_ owner: Owner, at provider: ProviderName) async throws -> UsherError? {
    let lockController = try await harness.begun()
    let (flows, caller) = (try lockController.services().flows, try Caller.program(of: owner))
    let call = FlowStart(provider: provider, kind: "authorize", params: [:], waitMs: 0)
    let error = await thrown { try await flows.start(call, caller) }
    await lockController.end()
    return error
  }

  @Test(
    "a dynamic user of systemd may not start a flow that creates an account for its uid",
    arguments: [61_184, 65_519])
  func refused(uid: UInt32) async throws {
    let error = try await refusal(Owner(realm: "host", uid: uid), at: .work)
    #expect(error?.reason == .permissionDenied)
    #expect(error?.message.contains("owner = \"client\"") == true, "\(error?.message ?? "")")
  }

  @Test("a client that owns its accounts may start flows under any uid")
  func owning() async throws {
    let owner = Owner(realm: "host", uid: Owner.anyUser, client: "till")
    #expect(try await refusal(owner, at: .work) == nil)
  }
}
