import FoundationEssentials
import Testing
import UsherClient
import UsherTestKit

@Suite("The documentation's program", .timeLimit(.minutes(1)))
struct DocumentedProgramTests {
  @Test("it is the one that is compiled here")
  func same() throws {
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    let root = here.deletingLastPathComponent().deletingLastPathComponent()
    let page = root.appending(path: "Sources/UsherClient/UsherClient.docc/UsherClient.md")
    let text = try String(decoding: Data(contentsOf: page), as: UTF8.self)
    let code = try String(
      decoding: Data(contentsOf: here.appending(path: "SignIn.swift")), as: UTF8.self)
    let blocks = text.split(separator: "```swift\n").dropFirst().map { block in
      block.split(separator: "```").first.map(String.init) ?? ""
    }
    #expect(blocks.first?.replacing("@main struct", with: "struct") == code)
  }

  @Test("it runs")
  func runs() async throws {
    try await FakeDaemon.run { peer in
      try await peer.reply(try await peer.next(), Sample.flow(1, step: Sample.openURL))
      try await peer.reply(try await peer.next(), Sample.waited(2, "succeeded"))
      try await peer.reply(try await peer.next(), Sample.token)
      _ = try await peer.next()
    } _: { daemon in
      try await SignIn.signIn(with: UsherClient(socketPath: daemon.path))
    }
  }
}
