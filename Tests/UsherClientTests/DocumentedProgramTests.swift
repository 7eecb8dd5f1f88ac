import FoundationEssentials
import Testing
import UsherClient
import UsherTestKit

@Suite("Example program in the documentation", .timeLimit(.minutes(10)))
struct DocumentedProgramTests {
  @Test("the example program in UsherClient.md equals SignIn.swift, which is compiled")
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

  @Test("the documentation's example program signs in and gets a token")
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
