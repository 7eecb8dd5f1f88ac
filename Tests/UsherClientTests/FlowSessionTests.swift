import JSONRPC
import Testing
import UsherClient
import UsherTestKit

@Suite("Flow sessions", .timeLimit(.minutes(10)))
struct FlowSessionTests {
  @Test("a flow session delivers each change once and in order, and ends with the flow")
  func steps() async throws {
    try await FakeDaemon.run { peer in
      try await peer.reply(try await peer.next(), Sample.flow(1))
      let first = try await peer.next()
      #expect(first.params == ["flow": "flw_1", "revision": 1, "timeoutMs": 30000])
      try await peer.reply(first, Sample.waited(1))
      try await peer.reply(try await peer.next(), Sample.waited(3, step: Sample.openURL))
      try await peer.reply(
        try await peer.next(),
        Sample.waited(4, "succeeded", result: #"{"account":"acc_1"}"#))
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      let session = try await usher.flow(provider: "work", kind: "authorize")
      var seen: [Int] = []
      for try await flow in session.steps { seen.append(flow.revision) }
      #expect(seen == [1, 3, 4])
      #expect(session.flow.result == ["account": "acc_1"])
    }
  }

  @Test("flow.submit carries the revision of its step, and its reply is the next change")
  func submit() async throws {
    try await FakeDaemon.run { peer in
      try await peer.reply(try await peer.next(), Sample.flow(1, step: Sample.openURL))
      let submit = try await peer.next()
      #expect(
        submit.params == [
          "flow": "flw_1", "revision": 1, "input": ["type": "openURL", "redirectURL": "u"],
        ])
      try await peer.reply(submit, Sample.flow(2, "succeeded"))
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      let session = try await usher.flow(provider: "work", kind: "authorize")
      var seen: [Int] = []
      for try await flow in session.steps {
        seen.append(flow.revision)
        if case .openURL? = flow.step { try await session.submit(.redirect(url: Secret("u"))) }
      }
      #expect(seen == [1, 2])
    }
  }

  @Test("a reply older than the known revision does not change the flow session")
  func older() async throws {
    try await FakeDaemon.run { peer in
      try await peer.reply(try await peer.next(), Sample.flow(1, step: Sample.openURL))
      let calls = [try await peer.next(), try await peer.next()]
      for call in calls where call.method == "flow.submit" {
        try await peer.reply(call, Sample.flow(3))
      }
      for call in calls where call.method == "flow.wait" {
        try await peer.reply(call, Sample.waited(2))
      }
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      let session = try await usher.flow(provider: "work", kind: "authorize")
      async let change = session.change(after: 1)
      try await session.submit(.redirect(url: Secret("u")))
      // The order in which the two replies are delivered depends on the tasks.
      _ = try await change
      #expect(session.flow.revision == 3)
    }
  }

  @Test("cancelling a flow session sends flow.cancel with the flow's id")
  func cancel() async throws {
    try await FakeDaemon.run { peer in
      try await peer.reply(try await peer.next(), Sample.flow(1))
      let cancel = try await peer.next()
      #expect(cancel.method == "flow.cancel")
      #expect(cancel.params == ["flow": "flw_1"])
      try await peer.reply(cancel, Sample.flow(2, "cancelled"))
      _ = try await peer.next()
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      let session = try await usher.session(of: FlowID("flw_1"))
      #expect(try await session.cancel().status == .cancelled)
      #expect(session.flow.status == .cancelled)
    }
  }

  @Test("flow.wait is repeated over several lost connections")
  func restart() async throws {
    try await FakeDaemon.run { peer in
      let call = try await peer.next()
      if call.method == "flow.start" { return try await peer.reply(call, Sample.flow(1)) }
      // The connection is lost twice, and flow.wait is repeated each time.
      if peer.index < 4 { return }
      try await peer.reply(call, Sample.waited(2, "succeeded"))
    } _: { daemon in
      let usher = UsherClient(socketPath: daemon.path)
      let session = try await usher.flow(provider: "work", kind: "authorize")
      #expect(try await session.change(after: 1).status == .succeeded)
    }
  }
}
