public import ArgumentParser
public import UsherAPI
public import UsherCore

// Types of the RPC contract as arguments of commands, parsed by their raw values.

extension AccountID: ExpressibleByArgument {}
extension ConfirmationID: ExpressibleByArgument {}
extension EventTopic: ExpressibleByArgument {}
extension FlowID: ExpressibleByArgument {}
extension FlowStatus: ExpressibleByArgument {}
extension ProviderName: ExpressibleByArgument {}
