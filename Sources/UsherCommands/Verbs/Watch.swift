public import ArgumentParser
import FoundationEssentials
public import UsherAPI
import UsherClient
import UsherCore

struct WatchVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Print events as they happen, one line each.")

  @OptionGroup var options: GlobalOptions

  @Option(
    name: .customLong("topic"),
    help: ArgumentHelp(
      "One of \(EventTopic.allCases.map(\.rawValue).joined(separator: ", ")); may be repeated.",
      valueName: "topic"))
  var topics: [EventTopic] = []

  @Option(help: ArgumentHelp("Start after this cursor, as far back as usherd remembers."))
  var since: Int?

  func run(at context: CommandContext) async throws {
    let topics = topics.isEmpty ? [.flow, .account, .token, .provider] : topics
    var cursor = since
    while true {
      do {
        for try await event in context.app.events(topics, since: cursor) {
          cursor = event.cursor
          try show(event, context)
        }
        return
      } catch let ended as EventsEnded where ended.cause == .overflow {
        context.console.printMessage("usherctl: \(ended); some may be missing")
        cursor = ended.cursor
      }
    }
  }

  private func show(_ notification: EventNotification, _ context: CommandContext) throws {
    if context.printsJSON {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      context.console.json(Array(try encoder.encode(notification)))
    } else {
      context.console.print(notification.event.line)
    }
  }
}

extension EventTopic: ExpressibleByArgument {}

extension Event {
  /// The event as one line, such as
  /// `2030-01-01T00:00:00Z flow moved flw_1 work/authorize active openURL`.
  fileprivate var line: String {
    let place = [provider?.rawValue, kind].compactMap(\.self).joined(separator: "/")
    let parts: [String?] = [
      "\(at)", topic.rawValue, what, confirmation?.rawValue, client, flow?.rawValue,
      account?.rawValue, place, status?.rawValue, state, step?.rawValue,
    ]
    return parts.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: " ")
  }
}
