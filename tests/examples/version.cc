// The header in C++.
#include <berth.h>

int main()
{
	return berth_version()[0] == 0;
}
